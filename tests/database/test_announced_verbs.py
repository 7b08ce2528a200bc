"""Each verb that changes a status is told of by `transition`, once a run, in the transaction that does it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from django_durable import control, recv, workflow
from django_durable.claim.claimer import Claimer
from django_durable.core.outcomes import Deferred, Waiting
from django_durable.core.run import Run
from django_durable.core.states import TRANSITIONS, Status
from django_durable.core.waits import Wait
from django_durable.exceptions import Refused
from django_durable.maintenance.deadlines import Deadlines
from django_durable.maintenance.promoter import Promoter
from django_durable.maintenance.recovery import Recovery
from django_durable.maintenance.release import release
from django_durable.maintenance.waker import Waker
from django_durable.models import Queue, WorkflowStatus
from django_durable.models.database import Clock
from django_durable.signals import transition
from tests.database.test_recording import claimed, desk
from tests.factories import ExecutorFactory, WorkflowFactory
from tests.testapp.workflows import echo

__all__ = ["desk"]
pytestmark = pytest.mark.django_db(transaction=True)

PAST = Clock() - timedelta(seconds=1)


class Ear:
    """A receiver that notes what it hears, and refuses what is in `refused`."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, str]] = []
        self.refused: set[str] = set()

    def __call__(self, run: Any, verb: str, **_: Any) -> None:
        assert connection.in_atomic_block
        if run.id in self.refused:
            raise ValueError("not now")
        self.heard.append((verb, run.id, Status.PENDING if isinstance(run, Run) else run.status))


@pytest.fixture
def ear() -> Iterator[Ear]:
    """Hears nothing until it is connected."""
    ear = Ear()
    yield ear
    transition.disconnect(ear)


def two(status: Status, **columns: Any) -> list[str]:
    return [WorkflowFactory.create(status=status, **columns).id for _ in range(2)]


def of_a_lost_executor(claims: int) -> list[str]:
    return two(Status.PENDING, executor_id=ExecutorFactory.create(lost=True).id, claims=claims, seq=1)


def sleepers() -> list[str]:
    return two(Status.WAITING, wake_at=PAST, claim_seq=None)


def recovers(ids: list[str]) -> None:
    Recovery("default", lease=30).run_once()


def promotes(ids: list[str]) -> None:
    Promoter("default").run_once()


def cancels_the_late(ids: list[str]) -> None:
    Deadlines("default").run_once()


def wakes(ids: list[str]) -> None:
    Waker("default").run_once()


def releases(ids: list[str]) -> None:
    rows = WorkflowStatus.objects.filter(pk__in=ids).values_list("id", "claim_token")
    given: list[Any] = [SimpleNamespace(id=each, token=token) for each, token in rows]
    release(given, "default")


Made = Callable[[], list[str]]
MAINTENANCE: dict[str, tuple[Made, Callable[[list[str]], object]]] = {
    "promote": (lambda: two(Status.DELAYED, delay_until=PAST), promotes),
    "expire": (lambda: two(Status.DELAYED, expires_at=PAST), cancels_the_late),
    "time_out": (lambda: two(Status.WAITING, deadline=PAST), cancels_the_late),
    "recover": (lambda: of_a_lost_executor(1), recovers),
    "park": (lambda: of_a_lost_executor(1000), recovers),
    "wake": (sleepers, wakes),
    "release": (lambda: two(Status.PENDING, seq=1), releases),
}
CONTROL: dict[str, tuple[Made, Callable[[list[str]], object]]] = {
    "cancel": (lambda: two(Status.WAITING), control.cancel),
    "resume": (lambda: two(Status.CANCELLED), control.resume),
    "retry": (lambda: two(Status.ERROR), control.retry),
    "rewind": (lambda: two(Status.SUCCESS), lambda ids: control.rewind(ids, to_step=1)),
    "postpone": (lambda: two(Status.DELAYED), lambda ids: control.set_delay(ids, delay=60)),
}
OF_EXECUTIONS = {"claim", "defer", "suspend", "complete", "fail"}  # told as claim, defer, suspend and settle


def test_every_verb_of_the_table_is_among_these():
    assert MAINTENANCE.keys() | CONTROL.keys() | OF_EXECUTIONS == TRANSITIONS.keys()


@pytest.mark.parametrize("verb", sorted(MAINTENANCE.keys() | CONTROL.keys()))
def test_each_run_that_a_verb_changes_is_told_of_once_as_it_is_then(verb, ear):
    made, act = {**MAINTENANCE, **CONTROL}[verb]
    ids = made()
    transition.connect(ear)
    act(ids)
    assert ear.heard == [(verb, each, TRANSITIONS[verb][1]) for each in sorted(ids)]


def test_what_ends_or_leaves_an_execution_is_told(desk, ear):
    sleeping, deferred = claimed(2)
    transition.connect(ear)
    desk.end(sleeping, Waiting(Wait(until=None)))
    desk.end(deferred, Deferred(60.0, forgiven=1))
    while desk.recorder.backlog:
        desk.recorder.tick()
    assert sorted(ear.heard) == [
        ("defer", deferred.id, Status.DELAYED),
        ("suspend", sleeping.id, Status.WAITING),
    ]


@pytest.mark.parametrize("verb", CONTROL)
def test_a_receiver_that_raises_undoes_the_verb_and_its_caller_learns_why(verb, ear):
    made, act = CONTROL[verb]
    ids = made()
    before = statuses(ids)
    transition.connect(ear)
    ear.refused = {ids[1]}
    with pytest.raises(Refused, match=f"refused the {verb} of workflow '{ids[1]}'") as refused:
        act(ids)
    assert isinstance(refused.value.__cause__, ValueError)
    assert statuses(ids) == before


@pytest.mark.parametrize("verb", MAINTENANCE)
def test_a_run_that_a_receiver_keeps_as_it_is_holds_up_no_other_one(verb, ear, caplog):
    made, act = MAINTENANCE[verb]
    ids = [*made(), *made()]
    before = statuses(ids)
    transition.connect(ear)
    ear.refused = set(ids[:2])
    with caplog.at_level(logging.ERROR):
        act(ids)
    assert statuses(ids[:2]) == before[:2]
    assert statuses(ids[2:]) == [TRANSITIONS[verb][1]] * 2
    assert f"refused the {verb} of workflow '{ids[0]}'" in caplog.text
    ear.refused = set()
    act(ids[:2])
    assert statuses(ids) == [TRANSITIONS[verb][1]] * 4


def test_one_that_refuses_without_end_ends_the_pass(ear):
    for _ in range(15):
        two(Status.DELAYED, delay_until=PAST)
    transition.connect(ear)
    ear.refused = set(WorkflowStatus.objects.values_list("id", flat=True))
    with pytest.raises(Refused):
        promotes([])
    assert set(WorkflowStatus.objects.values_list("status", flat=True)) == {Status.DELAYED}


def test_an_execution_that_may_not_leave_holds_up_no_other_one(desk, ear):
    sleeping, deferred, other = claimed(3)
    transition.connect(ear)
    ear.refused = {sleeping.id, deferred.id}
    desk.end(sleeping, Waiting(Wait(until=None)))
    desk.end(deferred, Deferred(60.0, forgiven=1))
    desk.end(other, Deferred(60.0, forgiven=1))
    while desk.recorder.backlog > 2:
        desk.recorder.tick()
    assert statuses([other.id, sleeping.id, deferred.id]) == [Status.DELAYED, Status.PENDING, Status.PENDING]
    ear.refused = set()
    while desk.recorder.backlog:
        desk.recorder.tick()
    assert statuses([sleeping.id, deferred.id]) == [Status.WAITING, Status.DELAYED]


def test_a_body_that_may_not_leave_to_wait_begins_again_later(drain, ear):
    @workflow(name="listens")
    def listens():
        return recv()

    def refuse(run, verb, **_):
        if verb == "suspend":
            raise ValueError("stay")

    run = listens.enqueue()
    transition.connect(refuse)
    try:
        drain()
    finally:
        transition.disconnect(refuse)
    assert (run.status, run.record.attempt) == (Status.DELAYED, 0)
    drain.hasten()
    drain()
    assert run.status == Status.WAITING


def test_a_receiver_that_swallows_an_error_of_the_database_undoes_the_verb():
    def swallow(**_):
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    ids = two(Status.WAITING)
    transition.connect(swallow)
    try:
        with pytest.raises(Refused) as refused:
            control.cancel(ids)
    finally:
        transition.disconnect(swallow)
    assert "swallowed an error of the database" in str(refused.value.__cause__)
    assert statuses(ids) == [Status.WAITING] * 2


def test_a_child_that_goes_on_with_its_parent_is_told_of_too(drain, ear):
    @workflow(name="breaks")
    def breaks():
        raise ValueError("always")

    @workflow(name="calls")
    def calls():
        return breaks()

    run = calls.enqueue()
    drain()
    transition.connect(ear)
    run.retry()
    child = f"{run.id}-1"
    assert ear.heard == [("retry", run.id, Status.ENQUEUED), ("retry", child, Status.ENQUEUED)]


def test_a_child_that_goes_on_with_a_retry_of_its_parent_is_told_of_twice(drain, ear):
    @workflow(name="breaks")
    def breaks():
        raise ValueError("always")

    @workflow(name="calls", max_attempts=2)
    def calls():
        return breaks()

    run = calls.enqueue()
    transition.connect(ear)
    drain()
    child = f"{run.id}-1"
    again = ear.heard[ear.heard.index(("retry", child, Status.ENQUEUED)) :]
    assert again == [
        ("retry", child, Status.ENQUEUED),
        ("postpone", child, Status.DELAYED),
        ("defer", run.id, Status.DELAYED),
    ]


def test_a_cascade_tells_of_each_run_once(ear):
    parent, _ = two(Status.WAITING)
    children = two(Status.DELAYED, parent_id=parent)
    grandchildren = two(Status.ENQUEUED, parent_id=children[0])
    transition.connect(ear)
    control.cancel(parent, cascade=True)
    told = [("cancel", each, Status.CANCELLED) for each in (parent, *children, *grandchildren)]
    assert sorted(ear.heard) == sorted(told)


@pytest.mark.parametrize("verb", sorted(MAINTENANCE.keys() | CONTROL.keys()))
def test_where_nobody_listens_no_statement_is_sent_for_it(verb, ear):
    made, act = {**MAINTENANCE, **CONTROL}[verb]
    counts = []
    for listens in (False, True):
        WorkflowStatus.objects.all().delete()
        ids = made()
        if listens:
            transition.connect(ear)
        with CaptureQueriesContext(connection) as sent:
            act(ids)
        counts.append(len([query for query in sent if '"durable_workflow_status"."input"' in query["sql"]]))
    assert counts == [0, 1]


def test_a_claim_by_start_is_told(ear):
    from django_durable.engine.launching.local import _claim

    run = echo.enqueue(1)
    transition.connect(ear)
    (held,) = _claim(run.id, ExecutorFactory.create().id, "default")
    assert ear.heard == [("claim", held.id, Status.PENDING)]


def test_a_woken_run_is_told_of_as_a_claim(ear):
    Queue.objects.get_or_create(name="default")
    ids = two(Status.WAITING, wake_at=PAST)
    transition.connect(ear)
    Claimer(ExecutorFactory.create().id, "default").claim("default", 5)
    assert sorted(ear.heard) == [("claim", each, Status.PENDING) for each in sorted(ids)]


def statuses(ids: list[str]) -> list[str]:
    found = dict(WorkflowStatus.objects.filter(pk__in=ids).values_list("id", "status"))
    return [found[each] for each in ids]
