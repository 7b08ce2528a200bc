"""Prints on the shelf, and the book of what came and went."""

from __future__ import annotations

from django.db import models

from shop.models.order import Order
from shop.models.product import Product


class Stock(models.Model):
    """How many of one print lie on the shelf. A print without such a row is printed to order."""

    product = models.OneToOneField(Product, models.CASCADE, primary_key=True, related_name="stock")
    on_hand = models.IntegerField(default=0)

    class Meta:
        verbose_name_plural = "stock"
        constraints = [
            models.CheckConstraint(condition=models.Q(on_hand__gte=0), name="shop_stock_is_never_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.on_hand} of {self.product_id}"


class StockMovement(models.Model):
    """One line of the warehouse's book.

    Nothing makes a line unique on purpose: a step that took effect twice would show here as two lines.
    """

    class Reason(models.TextChoices):
        DELIVERY = "delivery", "Delivery"
        RESERVATION = "reservation", "Reserved for an order"
        RELEASE = "release", "Released again"

    product = models.ForeignKey(Product, models.CASCADE, related_name="movements")
    order = models.ForeignKey(Order, models.CASCADE, null=True, blank=True, related_name="movements")
    quantity = models.IntegerField(help_text="Negative: taken from the shelf.")
    from_shelf = models.BooleanField(
        default=True, help_text="False: printed to order, the shelf is not touched."
    )
    reason = models.CharField(max_length=12, choices=Reason)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.quantity:+d} of {self.product_id} ({self.reason})"
