"""A body that does not repeat itself is told so, once, and nothing of it goes on."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from django_durable import step, workflow
from django_durable.core.states import Status
from django_durable.exceptions import UnexpectedStep
from tests.factories import StepFactory, WorkflowFactory


@step
def one():
    return 1


@step
def two():
    return 2


def test_another_step_than_the_recorded_one_ends_the_run_with_both_names(die_once):
    hits = []

    @step
    def other():
        hits.append(1)

    @workflow(max_attempts=5)
    def body():
        one() if die_once.alive else other()
        die_once()

    run = die_once.then_run(body.using(id="w").enqueue())
    assert hits == []
    with pytest.raises(UnexpectedStep) as raised:
        run.result()
    told = str(raised.value)
    assert all(part in told for part in ("'w'", "number 1", repr(one.name), repr(other.name)))


def test_it_is_terminal_whatever_attempts_are_left(die_once):
    @workflow(max_attempts=5)
    def body():
        one() if die_once.alive else two()
        die_once()

    run = die_once.then_run(body.enqueue())
    assert run.status == Status.ERROR
    assert run.record.attempt == 1


@pytest.mark.parametrize("caught", [Exception, BaseException])
def test_a_body_that_swallows_it_gets_it_again_at_every_further_call_and_ends_in_it(die_once, caught):
    hits = []
    raised = []

    @step
    def later():
        hits.append(1)

    @workflow
    def stubborn():
        for call in (one if die_once.alive else two, later, later):
            try:
                call()
            except caught as error:
                raised.append(type(error))
                if die_once.alive:
                    raise
            die_once()
        return "all is well"

    run = die_once.then_run(stubborn.enqueue())
    assert hits == []
    assert raised == [UnexpectedStep] * 3
    assert run.status == Status.ERROR


def test_a_renamed_step_is_the_same_step_by_its_given_name(die_once):
    @step(name="count")
    def before():
        return "before"

    @step(name="count")
    def after():
        return "after"

    @workflow
    def body():
        value = before() if die_once.alive else after()
        die_once()
        return value

    assert die_once.then_run(body.enqueue()).result() == "before"


def test_a_body_that_makes_fewer_calls_than_its_history_still_ends(die_once):
    @workflow
    def body():
        one()
        if die_once.alive:
            two()
        die_once()
        return "short"

    assert die_once.then_run(body.enqueue()).result() == "short"


def test_the_table_holds_one_result_for_each_number_of_a_run(db):
    run = WorkflowFactory()
    StepFactory(workflow=run, step=1, name="a")
    with pytest.raises(IntegrityError), transaction.atomic():
        StepFactory(workflow=run, step=1, name="b")
