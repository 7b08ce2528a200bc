"""A run ended while it waits, by whichever end and for whatever, goes on from there when it is resumed."""

from __future__ import annotations

import pytest

from django_durable import (
    Snooze,
    gather,
    get_event,
    recv,
    send,
    set_event,
    sleep,
    step,
    wait_first,
    workflow,
    workflow_id,
)
from django_durable.core.states import Status
from django_durable.maintenance.deadlines import Deadlines
from django_durable.models import StepOutput, WorkflowStatus
from django_durable.testing import shift
from tests.drain import row

pytestmark = pytest.mark.django_db

LONG = 1800.0  # seconds, which retries do not cut
TIMEOUT = 600.0


@workflow(name="waits.child")
def child():
    sleep(LONG)
    return "child"


@workflow(name="waits.publisher")
def publisher():
    sleep(LONG)
    set_event("e", "event")


def napping():
    sleep(LONG)
    return "slept"


def receiving():
    return recv("t")


def receiving_in_time():
    return recv("nothing", timeout=LONG) or "nothing"


def reading_an_event():
    run = publisher.using(id=f"{workflow_id()}-p", timeout=None).enqueue()
    return get_event(run.id, "e")


def awaiting_a_child():
    return child.using(timeout=None).enqueue().result()


def gathering():
    return gather(child.using(timeout=None).enqueue(), child.using(timeout=None).enqueue())


def waiting_for_the_first():
    return wait_first(child.using(timeout=None).enqueue()).result()


def retrying_a_step():
    return stubborn(StepOutput.objects.filter(workflow_id=workflow_id(), step__lt=0).exists())


@step(max_attempts=2, interval=LONG)
def stubborn(was_tried):
    if not was_tried:
        raise ValueError("not yet")
    return "at last"


def snoozing():
    if was_put_off():
        return "awake"
    raise Snooze(LONG)


def failing_once():
    if was_put_off():
        return "again"
    raise ValueError("not yet")


def was_put_off():
    """Whether this run's body was here before; it is told apart by its id."""
    before = workflow_id() in put_off
    put_off.add(workflow_id())
    return before


put_off: set[str | None] = set()

WAITS = {
    napping: "slept",
    receiving: "message",
    receiving_in_time: "nothing",
    reading_an_event: "event",
    awaiting_a_child: "child",
    gathering: ["child", "child"],
    waiting_for_the_first: "child",
    retrying_a_step: "at last",
    snoozing: "awake",
    failing_once: "again",
}


def cancelled(run):
    run.cancel("enough")


def timed_out(run):
    shift(TIMEOUT + 1)
    assert Deadlines("default").run_once().timed_out == (run.id,)


@pytest.mark.parametrize("end", [cancelled, timed_out])
@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.__name__)
def test_a_run_that_was_ended_in_a_wait_goes_on_from_there(drain, wait, end):
    @workflow(name="waits.body", max_attempts=2, backoff=lambda attempt, error: LONG)
    def body():
        return wait()

    run = body.using(timeout=TIMEOUT).enqueue()
    drain()
    assert run.status in (Status.WAITING, Status.DELAYED)
    end(run)
    assert (row(run).status, row(run).claim_seq) == (Status.CANCELLED, None)
    shift(2 * LONG)
    drain.hasten()
    drain()
    assert row(run).status == Status.CANCELLED
    assert not StepOutput.objects.filter(workflow_id=run.id, error__contains="Cancelled").exists()
    run.resume()
    if wait is receiving:
        send(run.id, "message", "t")
    WorkflowStatus.objects.filter(pk=run.id).update(timeout=None)
    for _ in range(3):
        drain()
        shift(2 * LONG)
        drain.hasten()
    assert run.result() == WAITS[wait]
