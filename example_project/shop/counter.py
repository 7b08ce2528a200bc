"""Where customers and shopkeepers start things: the row and its workflow are written in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction

from shop import catalogue
from shop.models import CatalogueImport, Order, OrderLine, Product
from shop.workflows import fulfil, import_catalogue


@transaction.atomic
def place_order(email: str, card: str, basket: Sequence[tuple[Product, int]]) -> Order:
    """Write the order and enqueue `fulfil`: both are committed, or neither is."""
    total = sum((product.price * quantity for product, quantity in basket), Decimal(0))
    order = Order.objects.create(email=email, card=card, total=total)
    OrderLine.objects.bulk_create(
        OrderLine(order=order, product=product, quantity=quantity, unit_price=product.price)
        for product, quantity in basket
    )
    fulfil.using(id=order.workflow_id).enqueue(order.pk)
    return order


@transaction.atomic
def start_import(rows: int | None = None) -> CatalogueImport:
    """Write the import and enqueue `import_catalogue` for the first `rows` lines of the file, or all."""
    available = len(catalogue.rows())
    catalogue_import = CatalogueImport.objects.create(
        version=catalogue.release(), rows_total=min(rows or available, available)
    )
    import_catalogue.using(id=catalogue_import.workflow_id).enqueue(catalogue_import.pk)
    return catalogue_import
