"""The shelf: taking prints off it for an order, putting them back, handing parcels out.

Each function here expects to run inside a transaction and takes its locks in order of product, so that two
orders for the same prints wait for each other instead of blocking each other for good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db.models import F

from shop.models import Order, Product, Shipment, Stock, StockMovement

Reason = StockMovement.Reason


class OutOfStock(Exception):
    """The shelf holds fewer prints than an order needs."""


def reserve(order: Order) -> None:
    """Take the order's prints off the shelf; raise `OutOfStock` if there are too few of one."""
    wanted = Counter[int]()
    for line in order.lines.all():
        wanted[line.product_id] += line.quantity
    shelf = _lock_shelf(wanted)
    for product_id, quantity in sorted(wanted.items()):
        if product_id in shelf and shelf[product_id] < quantity:
            raise OutOfStock(f"only {shelf[product_id]} of {_code(product_id)} left, {quantity} ordered")
    for product_id, quantity in sorted(wanted.items()):
        _move(order, product_id, -quantity, Reason.RESERVATION, product_id in shelf)


def release(order: Order) -> None:
    """Put back whatever `reserve` took."""
    taken = list(order.movements.filter(reason=Reason.RESERVATION).order_by("product_id"))
    _lock_shelf(movement.product_id for movement in taken)
    for movement in taken:
        _move(order, movement.product_id, -movement.quantity, Reason.RELEASE, movement.from_shelf)


def ship(order: Order, payment_reference: str) -> Shipment:
    """Hand the parcel to the carrier."""
    Order.objects.filter(pk=order.pk).update(state=Order.State.SHIPPED)
    return Shipment.objects.create(order=order, payment_reference=payment_reference)


def receive(product: Product, quantity: int) -> None:
    """Put a delivery on the shelf; the print is kept in stock from then on."""
    Stock.objects.get_or_create(product=product)
    Stock.objects.filter(product=product).update(on_hand=F("on_hand") + quantity)
    StockMovement.objects.create(product=product, quantity=quantity, reason=Reason.DELIVERY)


def _lock_shelf(product_ids: Iterable[int]) -> dict[int, int]:
    rows = Stock.objects.select_for_update().filter(pk__in=list(product_ids)).order_by("pk")
    return dict(rows.values_list("pk", "on_hand"))


def _move(order: Order, product_id: int, quantity: int, reason: str, from_shelf: bool) -> None:
    if from_shelf:
        Stock.objects.filter(pk=product_id).update(on_hand=F("on_hand") + quantity)
    StockMovement.objects.create(
        order=order, product_id=product_id, quantity=quantity, reason=reason, from_shelf=from_shelf
    )


def _code(product_id: int) -> str:
    return Product.objects.get(pk=product_id).code
