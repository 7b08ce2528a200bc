"""A pretended payment provider: another company, another ledger, reached by a slow wire.

What it has charged stays charged whatever becomes of the shop's own transaction: its ledger is written by the
connection "outside", which commits at once. As real ones do, it charges once per idempotency key.
"""

from __future__ import annotations

import time
from decimal import Decimal

from django.conf import settings
from django.db.models import F

from shop.models import Order, Payment


class CardDeclined(Exception):
    """The provider refuses the card; asking again changes nothing."""


class GatewayTimeout(Exception):
    """No answer came. The card may or may not have been charged; asking again with the same key is safe."""


def charge(order_number: str, amount: Decimal, card: str, *, idempotency_key: str) -> str:
    """Charge the card once per `idempotency_key` and return the provider's reference."""
    time.sleep(settings.SHOP_GATEWAY_SECONDS)  # the wire
    if card == Order.Card.DECLINED:
        raise CardDeclined("the bank declined the card")
    payment = _enter(order_number, amount, idempotency_key)
    if card == Order.Card.FLAKY and payment.requests == 1:
        raise GatewayTimeout("no answer from the payment provider")
    return payment.reference


def _enter(order_number: str, amount: Decimal, idempotency_key: str) -> Payment:
    ledger = Payment.objects.using("outside")
    payment, is_new = ledger.get_or_create(
        idempotency_key=idempotency_key, defaults={"order_number": order_number, "amount": amount}
    )
    if not is_new:
        ledger.filter(pk=payment.pk).update(requests=F("requests") + 1)
        payment.refresh_from_db(using="outside")
    return payment
