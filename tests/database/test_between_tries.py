"""Between the tries of a step a body is out of reach of its writes, and yet learns that it is over."""

from __future__ import annotations

import pytest

from django_durable import step, workflow
from django_durable.core.states import Status
from django_durable.engine import transitions

pytestmark = pytest.mark.django_db


@pytest.fixture
def tries():
    return []


def cancel(run):
    """From outside of the body that may be running."""
    transitions.cancel([run.id], using="default")


@pytest.mark.parametrize("atomic", [False, True])
def test_a_step_is_not_tried_again_once_its_run_was_cancelled(drain, tries, atomic):
    @step(max_attempts=200, interval=0.001, backoff=1, atomic=atomic)
    def fails():
        tries.append(1)
        raise ValueError("not yet")

    @workflow(name="cancelled")
    def body():
        cancel(run)
        fails()

    run = body.enqueue()
    drain()
    assert run.status == Status.CANCELLED
    assert len(tries) == 1


def test_a_cancel_between_two_tries_is_seen_before_the_next(drain, tries):
    @step(max_attempts=200, interval=0.001, backoff=1)
    def fails():
        tries.append(1)
        if len(tries) == 3:
            cancel(run)
        raise ValueError("not yet")

    @workflow(name="cancelled")
    def body():
        fails()

    run = body.enqueue()
    drain()
    assert run.status == Status.CANCELLED
    assert len(tries) == 3


def test_a_step_of_an_async_body_is_not_tried_again_once_its_run_was_cancelled(drain, tries):
    @step(max_attempts=200, interval=0.001, backoff=1)
    async def fails():
        tries.append(1)
        raise ValueError("not yet")

    @workflow(name="cancelled")
    async def body():
        await fails()

    run = body.enqueue()
    (claimed,) = drain.claim()
    cancel(run)
    drain.run(claimed)
    assert run.status == Status.CANCELLED
    assert len(tries) == 1


def test_a_step_is_not_tried_again_once_the_deadline_has_passed(drain, tries):
    @step(max_attempts=200, interval=0.001, backoff=1)
    def fails():
        tries.append(1)
        raise ValueError("not yet")

    @workflow(name="late", timeout=0.05)
    def body():
        fails()

    run = body.enqueue()
    drain()
    assert run.status == Status.CANCELLED
    assert "deadline" in run.record.error
    assert len(tries) < 200
