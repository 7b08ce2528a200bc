"""Judges the evidence: what was lost, what was doubled, and what merely began again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from shop.demo.evidence import Evidence, StepKey
from shop.demo.kill import Kill
from shop.models import Order

Card, State = Order.Card, Order.State


@dataclass
class Finding:
    """One question put to the tables; it is answered well if `problems` stays empty."""

    title: str
    words: str
    problems: list[str] = field(default_factory=list)


def findings(evidence: Evidence, kill: Kill | None) -> list[Finding]:
    """Every question, in the order in which the report tells them."""
    questions = (_orders, _shelf, _charges, _parcels, _rows, _steps, _bodies, _letters)
    return [_takeover(evidence, kill), *(question(evidence) for question in questions)]


def _takeover(evidence: Evidence, kill: Kill | None) -> Finding:
    """Whatever ran in the dead worker was claimed again by another."""
    if kill is None or not kill.held:
        return Finding("takeover", "no worker was killed in the middle", ["the work ended too early for it"])
    waits = {
        pk: (workflow.started_at - kill.at).total_seconds()
        for pk, workflow in evidence.held(kill).items()
        if workflow.started_at is not None
    }
    left = [f"{pk} was never taken over" for pk in kill.held if waits.get(pk, -1) < 0]
    last = max(waits.values(), default=0)
    words = f"{len(waits)} workflows by another worker, the last {last:.1f} s after the kill"
    return Finding("takeover", words, left)


def _orders(evidence: Evidence) -> Finding:
    orders = evidence.orders.values()
    states = [order.state for order in orders]
    shipped, declined = states.count(State.SHIPPED), states.count(State.DECLINED)
    problems = [
        f"{order.number} is {order.state}, its workflow {_status(evidence, order.workflow_id)}"
        for order in orders
        if order.state != _due(order) or _status(evidence, order.workflow_id) != "SUCCESS"
    ]
    words = f"{shipped + declined} of {len(orders)} done: {shipped} shipped, {declined} declined and put back"
    return Finding("orders", words, problems)


def _shelf(evidence: Evidence) -> Finding:
    """Rows of the atomic steps `reserve` and `decline`."""
    problems = [*_not_once("reserved", evidence.ordered, evidence.reserved)]
    declined = {key for key in evidence.ordered if evidence.orders[key[0]].card == Card.DECLINED}
    problems += _not_once("put back", declined, evidence.released)
    problems += evidence.wrong_shelves()
    words = f"{evidence.reserved.total()} order lines taken once, {evidence.released.total()} put back once"
    return Finding("shelf", words, problems)


def _charges(evidence: Evidence) -> Finding:
    problems = []
    for order in evidence.orders.values():
        amounts = [payment.amount for payment in evidence.payments.get(order.number, [])]
        if amounts != ([] if order.card == Card.DECLINED else [order.total]):
            problems.append(f"{order.number} over {order.total} was charged {amounts}")
    payments = [payment for several in evidence.payments.values() for payment in several]
    asked = sum(payment.requests for payment in payments)
    return Finding("charges", f"{len(payments)} cards charged once, by {asked} requests", problems)


def _parcels(evidence: Evidence) -> Finding:
    """Rows of the atomic step `ship`."""
    due = {pk for pk, order in evidence.orders.items() if order.card != Card.DECLINED}
    problems = [*_not_once("shipped", due, evidence.shipped)]
    return Finding("parcels", f"{evidence.shipped.total()} handed over once", problems)


def _rows(evidence: Evidence) -> Finding:
    """Rows of the atomic step `import_chunk`."""
    total = evidence.work.catalogue_import.rows_total
    imported = evidence.imported()
    expected = {"rows": total, "different": total, "first": 0, "last": total - 1}
    problems = [] if imported == expected else [f"the import should have left {expected}, it left {imported}"]
    status = _status(evidence, evidence.work.catalogue_import.workflow_id)
    if status != "SUCCESS":
        problems.append(f"the import's workflow is {status}")
    return Finding("rows", f"{imported['rows']:,} of {total:,} imported once", problems)


def _steps(evidence: Evidence) -> Finding:
    """Every step that had to run is recorded, and no body began after its record was written."""
    due, recorded = set(_due_steps(evidence)), set(evidence.records)
    problems = [f"{key.workflow_id} has no record of {key.step} {key.part}" for key in due - recorded]
    problems += [f"{key.workflow_id} should not have {key.step}" for key in recorded - due]
    again = [
        f"{key.workflow_id} began {key.step} again after it was recorded"
        for key, runs in evidence.body_runs.items()
        for run in runs
        if any(run.began_at > record.completed_at for record in evidence.records.get(key, []))
    ]
    words = f"{len(evidence.records):,} recorded, {len(again)} ran again after their record"
    return Finding("steps", words, problems + again)


def _bodies(evidence: Evidence) -> Finding:
    """A body may begin again only as a retry, or in a workflow that changed hands while it was in flight."""
    begun = sum(len(runs) for runs in evidence.body_runs.values())
    retried = sum(record.attempts - 1 for records in evidence.records.values() for record in records)
    cut_off = {key: count for key in evidence.records if (count := _cut_off(evidence, key))}
    problems = [
        f"{key.workflow_id} began {key.step} {count} time(s) more than it tried"
        for key, count in cut_off.items()
        if count < 0 or evidence.workflows[key.workflow_id].claims < 2
    ]
    words = f"{begun:,} begun: {retried} tried again, {sum(cut_off.values())} cut off by the kill"
    return Finding("bodies", words, problems)


def _letters(evidence: Evidence) -> Finding:
    """An e-mail can't be taken back: one, or two if the worker died between sending and recording."""
    letters = evidence.letters()
    problems = []
    for order in evidence.orders.values():
        most = len(evidence.body_runs.get(StepKey(order.workflow_id, "confirm", 0), []))
        if not 1 <= letters[order.number] <= most:
            problems.append(f"{order.number} got {letters[order.number]} e-mails from {most} sendings")
    sent = sum(letters[order.number] for order in evidence.orders.values())
    return Finding("e-mails", f"{sent} for {len(evidence.orders)} orders", problems)


def _due(order: Order) -> str:
    return State.DECLINED if order.card == Card.DECLINED else State.SHIPPED


def _due_steps(evidence: Evidence) -> Iterator[StepKey]:
    for order in evidence.orders.values():
        end = "decline" if order.card == Card.DECLINED else "ship"
        for step in ("reserve", "charge", end, "confirm"):
            yield StepKey(order.workflow_id, step, 0)
    catalogue_import = evidence.work.catalogue_import
    for part in range(len(catalogue_import.chunks)):
        yield StepKey(catalogue_import.workflow_id, "import_chunk", part)
    yield StepKey(catalogue_import.workflow_id, "close_import", 0)


def _not_once(verb: str, due: Iterable[Any], found: Counter[Any]) -> Iterator[str]:
    for key in set(due) | set(found):
        if (times := found[key]) != (1 if key in due else 0):
            yield f"order and print {key} {verb} {times} time(s)"


def _cut_off(evidence: Evidence, key: StepKey) -> int:
    attempts = sum(record.attempts for record in evidence.records[key])
    return len(evidence.body_runs.get(key, [])) - attempts


def _status(evidence: Evidence, workflow_id: str) -> str:
    workflow = evidence.workflows.get(workflow_id)
    return workflow.status if workflow else "gone"
