"""What a customer asked for."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.urls import reverse

from shop.models.product import Product


class Order(models.Model):
    """One order of a customer. Its `shop.fulfil` workflow carries it from placed to shipped."""

    class State(models.TextChoices):
        PLACED = "placed", "Placed"
        SHIPPED = "shipped", "Shipped"
        DECLINED = "declined", "Declined"

    class Card(models.TextChoices):
        """Cards that the pretended payment provider knows."""

        WORKS = "works", "4242 4242 4242 4242: works"
        FLAKY = "flaky", "4000 0000 0000 0119: the first answer is lost, then works"
        DECLINED = "declined", "4000 0000 0000 0002: is declined"

    email = models.EmailField("e-mail")
    card = models.CharField("test card", max_length=8, choices=Card, default=Card.WORKS)
    state = models.CharField(max_length=8, choices=State, default=State.PLACED)
    note = models.CharField(max_length=200, blank=True, help_text="Why it was declined.")
    total = models.DecimalField(max_digits=10, decimal_places=2, default=Decimal(0))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"Order {self.number}"

    def get_absolute_url(self) -> str:
        return reverse("shop:order", args=[self.pk])

    @property
    def number(self) -> str:
        """What the customer quotes."""
        return f"W-{self.pk:05d}"

    @property
    def workflow_id(self) -> str:
        """The id of the workflow that fulfils it: one order can't be fulfilled by two."""
        return f"order-{self.pk}"

    @property
    def masked_email(self) -> str:
        """Enough for the customer to know it again."""
        name, _, domain = self.email.partition("@")
        return f"{name[:1]}…@{domain}"

    @property
    def tone(self) -> str:
        """The colour of its state on a page."""
        return {self.State.SHIPPED: "done", self.State.DECLINED: "failed"}.get(
            self.State(self.state), "running"
        )


class OrderLine(models.Model):
    """So many of one print, at the price of the day."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, models.PROTECT, related_name="order_lines")
    quantity = models.PositiveIntegerField()
    unit_price = models.DecimalField(max_digits=8, decimal_places=2)

    def __str__(self) -> str:
        return f"{self.quantity} of {self.product_id}"

    @property
    def price(self) -> Decimal:
        return self.unit_price * self.quantity
