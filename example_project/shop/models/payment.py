"""The payment provider's side of the story."""

from __future__ import annotations

from django.db import models


class Payment(models.Model):
    """One charge in the ledger of the payment provider, which the shop can reach but not roll back.

    It knows the shop's order by number only, as another company would.
    """

    idempotency_key = models.CharField(max_length=255, unique=True)
    order_number = models.CharField(max_length=20, db_index=True)
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    requests = models.PositiveIntegerField(
        default=1, help_text="How often the shop asked for this one charge."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.reference} {self.amount}"

    @property
    def reference(self) -> str:
        """What the provider prints on the card statement."""
        return f"PAY-{self.pk:06d}"
