"""Receivers of `transition` take part in the transaction that writes an outcome, and hold up no other one."""

from __future__ import annotations

import logging
from contextlib import suppress
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection

from django_durable import recv, send, workflow
from django_durable.core.outcomes import Completed, Deferred, Failed
from django_durable.core.states import Status
from django_durable.exceptions import Refused
from django_durable.models import WorkflowStatus
from django_durable.signals import transition
from tests.database.test_recording import claimed, desk, statuses
from tests.testapp.models import Ledger
from tests.testapp.workflows import echo

__all__ = ["desk"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def listen():
    connected = []

    def connect(receiver):
        transition.connect(receiver, sender=WorkflowStatus)
        connected.append(receiver)

    yield connect
    for receiver in connected:
        transition.disconnect(receiver, sender=WorkflowStatus)


def test_a_receiver_is_told_of_each_outcome_in_its_transaction(desk, listen):
    told = []

    def note(run, verb, **_):
        told.append((run.id, run.status, verb, connection.in_atomic_block))

    runs = claimed(3)
    listen(note)
    for run, outcome in zip(runs, (Completed("1"), Failed("{}"), Deferred(60.0, failures=1)), strict=True):
        desk.end(run, outcome)
    while desk.recorder.backlog:
        desk.recorder.tick()
    assert sorted(told) == sorted(
        [
            (runs[0].id, Status.SUCCESS, "settle", True),
            (runs[1].id, Status.ERROR, "settle", True),
            (runs[2].id, Status.DELAYED, "defer", True),
        ]
    )
    assert {held for _, held in desk.told} == {True}


def test_a_receiver_that_raises_holds_up_its_own_outcome_alone(desk, listen, caplog):
    runs = claimed(5)
    refused: str | None = runs[2].id

    def refuse(run, **_):
        Ledger.objects.create(run_id=run.id, step="settled")
        if run.id == refused:
            raise ValueError("not yet")

    listen(refuse)
    for run in runs:
        desk.end(run)
    with caplog.at_level(logging.ERROR):
        desk.recorder.tick()
    assert [run for run, status in statuses().items() if status != Status.SUCCESS] == [refused]
    assert refused not in dict(desk.told)
    assert Ledger.objects.filter(run_id=refused).count() == 0
    assert "not yet" in caplog.text
    refused = None
    while desk.recorder.backlog:
        desk.recorder.tick()
    assert set(statuses().values()) == {Status.SUCCESS}
    assert sorted(desk.told) == sorted((run.id, True) for run in runs)
    assert Ledger.objects.count() == 5


def test_a_receiver_that_swallows_an_error_of_the_database_undoes_the_outcome(desk, listen):
    swallows = True

    def swallow(run, **_):
        if swallows:
            with suppress(DatabaseError), connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")

    (run,) = claimed(1)
    listen(swallow)
    desk.end(run)
    desk.recorder.tick()
    assert (statuses(), desk.told) == ({run.id: Status.PENDING}, [])
    swallows = False
    while desk.recorder.backlog:
        desk.recorder.tick()
    assert (statuses(), desk.told) == ({run.id: Status.SUCCESS}, [(run.id, True)])


def test_an_outcome_that_cannot_be_stored_is_refused_among_others_that_are_told(desk, listen):
    told = []
    runs = claimed(3)

    def note(run, **_):
        told.append(run.id)

    listen(note)
    for run, text in zip(runs, ('"a"', "\0", '"c"'), strict=True):
        desk.end(run, Completed(text))
    while desk.recorder.backlog:
        desk.recorder.tick()
    assert statuses() == {runs[0].id: Status.SUCCESS, runs[1].id: Status.ERROR, runs[2].id: Status.SUCCESS}
    assert sorted(desk.told) == sorted((run.id, True) for run in runs)
    assert set(told) == {run.id for run in runs}


def test_a_parent_is_woken_by_an_outcome_that_was_announced(drain, listen):
    told = []

    def note(run, verb, **_):
        if verb == "settle":
            told.append(run.name)

    @workflow(name="obeys")
    def obeys():
        return recv()

    @workflow(name="parent")
    def parent():
        return obeys()

    listen(note)
    run = parent.enqueue()
    drain()
    send(f"{run.id}-1", "told")
    drain()
    assert run.result() == "told"
    assert told == ["obeys", "parent"]


def test_a_superseded_outcome_is_not_announced(desk, listen):
    told = []

    def note(run, **_):
        told.append(run.id)

    (run,) = claimed(1)
    WorkflowStatus.objects.filter(pk=run.id).update(claim_token=uuid4())
    listen(note)
    desk.end(run)
    desk.recorder.tick()
    assert (told, desk.told) == ([], [(run.id, False)])


def test_where_runs_end_one_by_one_the_refusal_is_raised(drain, listen):
    def refuse(**_):
        raise ValueError("no")

    run = echo.enqueue(1)
    listen(refuse)
    with pytest.raises(Refused, match=run.id):
        drain()
    assert run.status == Status.PENDING
