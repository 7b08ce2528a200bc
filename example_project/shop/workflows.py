"""The two long jobs of the shop. django_durable finds this module by its name.

A worker may die between any two lines here: the next one takes the finished steps from their records and
goes on.
"""

from __future__ import annotations

from django_durable import step, workflow
from shop import gateway, journal, post, shelving, warehouse
from shop.models import CatalogueImport, Order


@workflow(name="shop.fulfil", queue="orders")
def fulfil(order_id: int) -> str:
    """Carry an order from placed to shipped, or to declined with everything put back."""
    try:
        reserve(order_id)
        payment_reference = charge(order_id)
    except (warehouse.OutOfStock, gateway.CardDeclined) as refusal:
        decline(order_id, str(refusal))
    else:
        ship(order_id, payment_reference)
    return confirm(order_id)


@step(name="reserve", atomic=True)
def reserve(order_id: int) -> None:
    """Atomic: the shelf, the warehouse's book and the record of the step change together or not at all."""
    order = Order.objects.get(pk=order_id)
    journal.began(order.workflow_id, "reserve")
    warehouse.reserve(order)


@step(name="charge", max_attempts=5, interval=0.5, retry_on=gateway.GatewayTimeout)
def charge(order_id: int, *, idempotency_key: str | None = None) -> str:
    """Not atomic: the provider's ledger is not ours. The key makes asking again harmless."""
    order = Order.objects.get(pk=order_id)
    journal.began(order.workflow_id, "charge")
    key = idempotency_key or order.number  # called plainly, outside a workflow, a step gets no key
    return gateway.charge(order.number, order.total, order.card, idempotency_key=key)


@step(name="ship", atomic=True)
def ship(order_id: int, payment_reference: str) -> str:
    order = Order.objects.get(pk=order_id)
    journal.began(order.workflow_id, "ship")
    return warehouse.ship(order, payment_reference).tracking_number


@step(name="decline", atomic=True)
def decline(order_id: int, reason: str) -> None:
    """The way back: what was reserved returns to the shelf, and the order says why."""
    order = Order.objects.get(pk=order_id)
    journal.began(order.workflow_id, "decline")
    warehouse.release(order)
    Order.objects.filter(pk=order_id).update(state=Order.State.DECLINED, note=reason)


@step(name="confirm", max_attempts=5)
def confirm(order_id: int, *, idempotency_key: str | None = None) -> str:
    order = Order.objects.get(pk=order_id)
    journal.began(order.workflow_id, "confirm")
    post.confirm(order, idempotency_key or order.number)
    return order.state


@workflow(name="shop.import_catalogue", queue="imports")
def import_catalogue(import_id: int) -> int:
    """Bring in the whole file, one step a chunk; a chunk that is recorded is never brought in again."""
    chunks = CatalogueImport.objects.get(pk=import_id).chunks
    rows = sum(
        import_chunk(import_id, number, chunk.start, chunk.stop) for number, chunk in enumerate(chunks)
    )
    close_import(import_id)
    return rows


@step(name="import_chunk", atomic=True)
def import_chunk(import_id: int, part: int, start: int, stop: int) -> int:
    catalogue_import = CatalogueImport.objects.get(pk=import_id)
    journal.began(catalogue_import.workflow_id, "import_chunk", part)
    return shelving.bring_in(catalogue_import, range(start, stop))


@step(name="close_import", atomic=True)
def close_import(import_id: int) -> None:
    catalogue_import = CatalogueImport.objects.get(pk=import_id)
    journal.began(catalogue_import.workflow_id, "close_import")
    shelving.finish(catalogue_import)
