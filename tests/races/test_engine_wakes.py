"""No wake-up is lost: somebody leaves to wait while what it waits for comes, in both orders."""

from __future__ import annotations

import pytest
from django.db import transaction

from django_durable import send
from django_durable.core.states import Status
from django_durable.core.waits import Wait
from django_durable.engine.execution.ownership import own
from django_durable.engine.mailbox import events
from django_durable.engine.waits.suspension import Left, suspend
from django_durable.models import Queue, WorkflowStatus
from tests.races.executions import ENDINGS, USING, cancel, claim, end, owner, recover, running, status
from tests.testapp.workflows import echo

WAITS = {
    "message": Wait(mailboxes=("t",)),
    "event": Wait(events=(("other", "key"),)),
    "run": Wait(runs=("other",)),
}


def comes(kind, other):
    """What the waiter waits for."""
    if kind == "message":
        send("w", "hello", "t")
    elif kind == "event":
        publish(other)
    else:
        assert end(other, "complete")


def publish(run):
    with transaction.atomic():
        own(run.fence, USING)
        row = {"workflow": run.id, "key": "key", "value": "1", "serialization": "json"}
        events._set(row, 1, USING)


@pytest.fixture
def two(race):
    waiter = running("w")
    echo.using(id="other").enqueue()
    (other,) = claim()
    return waiter, other


def is_woken():
    row = WorkflowStatus.objects.get(pk="w")
    return row.status == Status.WAITING and row.wake_at is not None


@pytest.mark.parametrize("kind", WAITS)
def test_who_is_about_to_wait_waits_for_what_is_just_coming_and_stays(race, two, kind):
    waiter, other = two
    with race.holding(comes, kind, other):
        leaving = race.blocked(suspend, waiter.fence, WAITS[kind], USING)
    assert leaving.result(30) is Left.HAS_COME
    assert status() == Status.PENDING


@pytest.mark.parametrize("kind", WAITS)
def test_who_is_about_to_wait_leaves_when_what_was_coming_is_taken_back(race, two, kind):
    waiter, other = two
    with race.holding(comes, kind, other, commits=False):
        leaving = race.blocked(suspend, waiter.fence, WAITS[kind], USING)
    assert leaving.result(30) is Left.WAITS
    assert not is_woken()


@pytest.mark.parametrize("kind", WAITS)
def test_what_comes_while_somebody_leaves_waits_and_wakes_it(race, two, kind):
    waiter, other = two
    with race.holding(suspend, waiter.fence, WAITS[kind], USING):
        coming = race.blocked(comes, kind, other)
    coming.result(30)
    assert is_woken()


@pytest.mark.parametrize("kind", WAITS)
def test_what_comes_to_somebody_who_stayed_after_all_is_simply_there(race, two, kind):
    waiter, other = two
    with race.holding(suspend, waiter.fence, WAITS[kind], USING, commits=False):
        coming = race.blocked(comes, kind, other)
    coming.result(30)
    assert status() == Status.PENDING
    assert suspend(waiter.fence, WAITS[kind], USING) is Left.HAS_COME


@pytest.mark.parametrize("how", [how for how in ENDINGS if how != "defer"])
def test_every_end_of_a_run_wakes_who_waits_for_it(race, two, how):
    waiter, other = two
    assert suspend(waiter.fence, WAITS["run"], USING) is Left.WAITS
    assert end(other, how)
    assert is_woken()


def test_a_cancel_from_outside_wakes_who_waits(race, two):
    waiter, _ = two
    suspend(waiter.fence, WAITS["run"], USING)
    cancel("other")
    assert is_woken()


def test_a_cancel_that_meets_the_leaving_of_a_waiter_wakes_it(race, two):
    waiter, _ = two
    with race.holding(suspend, waiter.fence, WAITS["run"], USING):
        cancelling = race.blocked(cancel, "other")
    cancelling.result(30)
    assert is_woken()


def test_a_waiter_that_is_cancelled_while_it_leaves_does_not_leave(race, two):
    waiter, _ = two
    with race.holding(cancel, "w"):
        leaving = race.blocked(suspend, waiter.fence, WAITS["message"], USING)
    assert leaving.result(30) is Left.SUPERSEDED
    assert status() == Status.CANCELLED


def test_a_superseded_execution_cannot_leave(race, two):
    waiter, _ = two
    recover(owner(waiter))
    assert suspend(waiter.fence, WAITS["message"], USING) is Left.SUPERSEDED
    assert status() == Status.ENQUEUED


def test_a_message_that_is_being_sent_holds_up_no_checkpoint(race, two):
    from tests.races.executions import checkpoint

    waiter, _ = two
    with race.holding(send, "w", 1, "t"):
        assert checkpoint(waiter)


@pytest.mark.parametrize("limits", [{}, {"partition_worker_concurrency": 1}])
def test_two_workers_never_claim_the_same_woken_run(race, two, limits):
    waiter, other = two
    Queue.objects.set("default", **limits)
    suspend(waiter.fence, WAITS["run"], USING)
    end(other, "complete")
    with race.holding(claim_woken):
        assert claim() == []
    assert status() == Status.PENDING


def claim_woken():
    from uuid import uuid4

    mine = {"executor": uuid4(), "token": uuid4(), "version": None, "newest": True}
    runs = WorkflowStatus.objects.claim_woken("default", 5, mine)
    assert [run.id for run in runs] == ["w"]
