"""An execution that lost its run writes nothing more, and its body learns it at the next durable call."""

from __future__ import annotations

from contextvars import Context
from uuid import uuid4

import pytest

from django_durable import Cancel, Fail, Snooze, retrieve, step, workflow
from django_durable.core.outcomes import Overtaken
from django_durable.core.states import Status
from django_durable.exceptions import Superseded
from django_durable.models import StepOutput, WorkflowStatus
from tests.testapp.models import Ledger
from tests.testapp.workflows import book, echo


def lose(run_id):
    """Another claim takes the run over."""
    WorkflowStatus.objects.filter(pk=run_id).update(claim_token=uuid4())


def cancel(run_id):
    """Somebody else cancels it: the order is none of the body's own durable calls."""
    Context().run(lambda: retrieve(run_id).cancel())


TAKEN = [lose, cancel]


def as_it_stands():
    return list(WorkflowStatus.objects.values()), list(StepOutput.objects.values())


@pytest.mark.parametrize("take", TAKEN)
@pytest.mark.parametrize("atomic", [True, False])
def test_a_checkpoint_is_refused_and_the_writes_of_its_step_go_with_it(drain, take, atomic):
    stood = []

    @step(atomic=atomic)
    def mark():
        if atomic:
            Ledger.objects.create(run_id="lost", step="mark")
        take("w")
        stood.append(as_it_stands())

    @workflow
    def body():
        mark()

    body.using(id="w").enqueue()
    outcomes = drain()
    assert outcomes[0] == Overtaken()
    assert not Ledger.objects.exists()
    assert not StepOutput.objects.exists()
    if not atomic:
        assert as_it_stands() == stood[0]


@pytest.mark.parametrize("take", TAKEN)
@pytest.mark.parametrize("caught", [Exception, BaseException])
def test_a_body_that_swallows_the_loss_is_told_again_at_every_call(drain, take, caught):
    called = []
    told = []

    @step
    def mark(place):
        called.append(place)
        if place == "first":
            take("w")

    @workflow
    def body():
        for place in ("first", "second", "third"):
            try:
                mark(place)
            except caught as error:
                told.append(type(error))
        return "all is well"

    run = body.using(id="w").enqueue()
    assert drain()[0] == Overtaken()
    assert called == ["first"]
    assert told == ([Superseded] * 3 if caught is BaseException else [])
    assert run.status != Status.SUCCESS


def throw(flow):
    raise flow


ENDINGS = {
    "returns": lambda: None,
    "raises": lambda: 1 / 0,
    "retries": lambda: 1 / 0,
    "fails": lambda: throw(Fail("no")),
    "cancels": lambda: throw(Cancel("no")),
    "snoozes": lambda: throw(Snooze(60)),
}


@pytest.mark.parametrize("take", TAKEN)
@pytest.mark.parametrize("ending", ENDINGS)
def test_no_ending_of_a_lost_run_is_written(drain, take, ending):
    stood = []

    @workflow(max_attempts=2 if ending == "retries" else 1)
    def body():
        take("w")
        stood.append(as_it_stands())
        return ENDINGS[ending]()

    body.using(id="w").enqueue()
    drain()
    assert as_it_stands() == stood[0]


def test_the_run_that_follows_a_lost_one_is_not_touched_by_its_loss(drain):
    @workflow
    def body():
        lose("w")
        book("lost")

    body.using(id="w").enqueue()
    after = echo.enqueue("after")
    drain()
    assert after.result() == "after"


def test_what_a_cancelled_body_did_before_its_cancel_stays_recorded(drain):
    @workflow
    def body():
        book("a")
        cancel("w")
        book("b")

    run = body.using(id="w").enqueue()
    drain()
    assert run.status == Status.CANCELLED
    assert list(Ledger.objects.values_list("step", flat=True)) == ["a"]
    assert list(StepOutput.objects.values_list("step", flat=True)) == [1]
