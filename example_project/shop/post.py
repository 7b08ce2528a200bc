"""Letters to customers."""

from __future__ import annotations

from django.core.mail import EmailMessage
from django.template.loader import render_to_string

from shop.models import Order


def confirm(order: Order, idempotency_key: str) -> None:
    """Tell the customer how the order ended. The key is the Message-ID: two copies count as one."""
    text = render_to_string("shop/confirmation.txt", {"order": order})
    subject, _, body = text.partition("\n")
    EmailMessage(
        subject=subject,
        body=body.lstrip(),
        to=[order.email],
        headers={"Message-ID": f"<{idempotency_key}@windsock.example>", "X-Order": order.number},
    ).send()
