"""The work of one demo, and how much of it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django_durable.models import WorkflowStatus
from shop.models import CatalogueImport, Order
from shop.progress import ENDED


@dataclass(frozen=True)
class Done:
    """How much has been done by now."""

    orders: int
    rows: int
    is_import_ended: bool


class Work:
    """The orders and the import that this demo put in line."""

    def __init__(self, orders: Sequence[Order], catalogue_import: CatalogueImport) -> None:
        self.orders = orders
        self.catalogue_import = catalogue_import

    @property
    def workflow_ids(self) -> list[str]:
        return [*(order.workflow_id for order in self.orders), self.catalogue_import.workflow_id]

    def workflows(self) -> dict[str, WorkflowStatus]:
        return {workflow.pk: workflow for workflow in WorkflowStatus.objects.filter(pk__in=self.workflow_ids)}

    def look(self) -> Done:
        ended = set(
            WorkflowStatus.objects.filter(pk__in=self.workflow_ids, status__in=ENDED).values_list(
                "pk", flat=True
            )
        )
        rows = CatalogueImport.objects.values_list("rows_done", flat=True).get(pk=self.catalogue_import.pk)
        import_id = self.catalogue_import.workflow_id
        return Done(len(ended - {import_id}), rows, import_id in ended)

    def is_done(self, done: Done) -> bool:
        return done.is_import_ended and done.orders == len(self.orders)

    def share(self, done: Done) -> float:
        """Orders and rows weigh the same."""
        return (done.orders / len(self.orders) + done.rows / self.catalogue_import.rows_total) / 2

    def words(self, done: Done) -> str:
        total = self.catalogue_import.rows_total
        return f"orders {done.orders}/{len(self.orders)}  rows {done.rows:,}/{total:,}"
