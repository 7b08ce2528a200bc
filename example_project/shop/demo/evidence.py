"""What the tables say after the work: every row that this demo's workflows left."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, F, Max, Min, Q, Sum

from django_durable.models import StepOutput, WorkflowStatus
from shop.demo.kill import Kill
from shop.demo.work import Work
from shop.models import BodyRun, ImportedRow, Order, OrderLine, Payment, Shipment, Stock, StockMovement

SENT_FOR = re.compile(rb"^X-Order: (\S+)", re.MULTILINE)


class StepKey(NamedTuple):
    """One step of one workflow; `part` tells the chunks of an import apart."""

    workflow_id: str
    step: str
    part: int


class Evidence:
    """Rows, grouped as the questions need them. Reads only; each attribute is one query."""

    def __init__(self, work: Work) -> None:
        pks = [order.pk for order in work.orders]
        self.work = work
        self.workflows = work.workflows()
        self.orders = Order.objects.in_bulk(pks)
        self.ordered = _pairs(OrderLine.objects.filter(order__in=pks))
        self.reserved = _pairs(StockMovement.objects.filter(order__in=pks, reason="reservation"))
        self.released = _pairs(StockMovement.objects.filter(order__in=pks, reason="release"))
        self.shipped = Counter(Shipment.objects.filter(order__in=pks).values_list("order", flat=True))
        self.payments = self._payments()
        self.records = self._records()
        self.body_runs = self._body_runs()

    def held(self, kill: Kill) -> dict[str, WorkflowStatus]:
        """The workflows that ran in the killed process, those of an earlier demo included."""
        found: dict[str, WorkflowStatus] = WorkflowStatus.objects.in_bulk(kill.held)
        return found

    def _payments(self) -> dict[str, list[Payment]]:
        found = defaultdict(list)
        for payment in Payment.objects.filter(order_number__in=[order.number for order in self.work.orders]):
            found[payment.order_number].append(payment)
        return found

    def _records(self) -> dict[StepKey, list[StepOutput]]:
        """Step outputs in the order of their numbers; the parts of one name are counted from 0."""
        found: dict[StepKey, list[StepOutput]] = defaultdict(list)
        parts = Counter[tuple[str, str]]()
        for output in StepOutput.objects.filter(workflow__in=self.work.workflow_ids).order_by(
            "workflow_id", "step"
        ):
            name = (output.workflow_id, output.name)
            found[StepKey(*name, parts[name])].append(output)
            parts[name] += 1
        return found

    def _body_runs(self) -> dict[StepKey, list[BodyRun]]:
        found = defaultdict(list)
        for run in BodyRun.objects.filter(workflow_id__in=self.work.workflow_ids).order_by("began_at"):
            found[StepKey(run.workflow_id, run.step, run.part)].append(run)
        return found

    def imported(self) -> dict[str, int]:
        """How many rows came in, how many different ones, and the first and last line."""
        return ImportedRow.objects.filter(catalogue_import=self.work.catalogue_import).aggregate(
            rows=Count("*"), different=Count("line", distinct=True), first=Min("line"), last=Max("line")
        )

    def wrong_shelves(self) -> list[str]:
        """Prints whose number on the shelf is not what the warehouse's book adds up to."""
        book = Sum("product__movements__quantity", filter=Q(product__movements__from_shelf=True))
        wrong = Stock.objects.annotate(book=book).exclude(on_hand=F("book"))
        return [
            f"{stock.product_id}: {stock.on_hand} on the shelf, {stock.book} by the book" for stock in wrong
        ]

    def letters(self) -> Counter[str]:
        """E-mails in the mail folder by the number of the order they were sent for."""
        began = min(order.created_at for order in self.work.orders).timestamp()
        files = (
            file for file in Path(settings.SHOP_LETTERS).glob("*.log") if file.stat().st_mtime >= began - 1
        )
        return Counter(number.decode() for file in files for number in SENT_FOR.findall(file.read_bytes()))


def _pairs(rows: Iterable[OrderLine] | Iterable[StockMovement]) -> Counter[tuple[int, int]]:
    """How many rows there are for each order and product."""
    return Counter((row.order_id, row.product_id) for row in rows if row.order_id is not None)
