"""The demo's verdict: it must see what is wrong, or its "ok" says nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.core.management import call_command
from django.db import transaction
from django.db.models import F, Model, QuerySet
from django.test import TransactionTestCase, override_settings

from django_durable.models import StepOutput, WorkflowStatus
from example_project.mail import to_files
from shop import counter
from shop.demo import customers, verdict
from shop.demo.evidence import Evidence
from shop.demo.work import Work
from shop.models import BodyRun, ImportedRow, Order, Payment, Shipment, Stock, StockMovement
from shop.tests.shelves import window

DAY = timedelta(days=1)


@override_settings(SHOP_GATEWAY_SECONDS=0)
class VerdictTests(TransactionTestCase):
    """One run of a few orders and a small import; each tampering with its traces is rolled back again."""

    databases = {"default", "outside"}

    def setUp(self) -> None:
        self.letters = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(override_settings(SHOP_LETTERS=self.letters, **to_files(self.letters)))
        prints = window(least_on_hand=50)
        orders = [counter.place_order("ada@example.com", card, [(prints[0], 2)]) for card in Order.Card]
        self.work = Work([*orders, *customers.place(3, prints)], counter.start_import(rows=1200))
        self.first = orders[0]
        call_command("run_queues", "--burst", "--slots", "4", verbosity=0)

    def wrong(self) -> set[str]:
        """The questions that find something, but for the kill, which did not happen here."""
        found = verdict.findings(Evidence(self.work), None)
        return {finding.title for finding in found if finding.problems} - {"takeover"}

    def test_a_plain_run_is_right_and_every_tampering_with_it_is_seen(self) -> None:
        assert self.wrong() == set()
        lost_or_doubled: list[tuple[str, Callable[[], object], set[str]]] = [
            ("parcel lost", self.shipments().delete, {"parcels"}),
            ("parcel doubled", lambda: copy(self.shipments()), {"parcels"}),
            ("row lost", ImportedRow.objects.filter(line=700).delete, {"rows"}),
            ("row doubled", lambda: copy(ImportedRow.objects.filter(line=3)), {"rows"}),
            ("reservation lost", self.movements().delete, {"shelf"}),
            ("reservation doubled", lambda: copy(self.movements()), {"shelf"}),
            ("shelf miscounted", lambda: self.stock().update(on_hand=F("on_hand") - 1), {"shelf"}),
            ("charge lost", self.payments().delete, {"charges"}),
            ("charge doubled", lambda: copy(self.payments(), idempotency_key="another"), {"charges"}),
            ("order undone", lambda: self.orders().update(state=Order.State.PLACED), {"orders"}),
            ("record lost", self.records().delete, {"steps"}),
            ("ran again after its record", lambda: self.run_again(DAY), {"steps", "bodies"}),
            ("began twice, nobody died", lambda: self.run_again(-DAY), {"bodies"}),
            ("began twice, its worker died", lambda: self.run_again(-DAY, claims=2), set()),
        ]
        for what, tamper, seen in lost_or_doubled:
            with self.subTest(what), transaction.atomic():
                tamper()
                assert self.wrong() == seen
                transaction.set_rollback(True)
        next(self.letters.iterdir()).unlink()
        assert self.wrong() == {"e-mails"}

    def orders(self) -> QuerySet[Order]:
        return Order.objects.filter(pk=self.first.pk)

    def shipments(self) -> QuerySet[Shipment]:
        return Shipment.objects.filter(order=self.first)

    def movements(self) -> QuerySet[StockMovement]:
        return StockMovement.objects.filter(order=self.first)

    def stock(self) -> QuerySet[Stock]:
        return Stock.objects.filter(product__iata="LHR")

    def payments(self) -> QuerySet[Payment]:
        return Payment.objects.filter(order_number=self.first.number)

    def records(self) -> QuerySet[StepOutput]:
        return StepOutput.objects.filter(workflow_id=self.first.workflow_id, name="ship")

    def run_again(self, later: timedelta, claims: int = 1) -> None:
        """Let the body of `ship` have begun once more, so much later."""
        run = BodyRun.objects.get(workflow_id=self.first.workflow_id, step="ship")
        copy(BodyRun.objects.filter(pk=run.pk), began_at=run.began_at + later)
        WorkflowStatus.objects.filter(pk=self.first.workflow_id).update(claims=claims)


def copy(rows: QuerySet[Model], **changes: object) -> None:
    """Enter the one row of `rows` a second time."""
    row = rows.get()
    row.pk = None
    row._state.adding = True
    for name, value in changes.items():
        setattr(row, name, value)
    row.save()
