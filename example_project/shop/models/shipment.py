"""What left the house."""

from __future__ import annotations

from django.db import models

from shop.models.order import Order


class Shipment(models.Model):
    """One parcel handed to the carrier. Not unique per order on purpose: a doubled step would show here."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="shipments")
    payment_reference = models.CharField(max_length=20)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.tracking_number

    @property
    def tracking_number(self) -> str:
        return f"WS{self.pk:09d}GB"
