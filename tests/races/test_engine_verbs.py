"""Two verbs meet over one run in every status: the outcome is that of one after the other."""

from __future__ import annotations

import threading

import pytest

from django_durable import control
from django_durable.core.states import IN_PLACE, TRANSITIONS, Status, allows
from django_durable.exceptions import TransitionRefused, WorkflowNotFound
from django_durable.models import StepOutput, WorkflowStatus
from tests.factories import StepFactory, WorkflowFactory
from tests.race import GLANCE, LONGEST, _waits

VERBS = {
    "cancel": lambda run: control.cancel([run]),
    "resume": lambda run: control.resume([run]),
    "retry": lambda run: control.retry([run]),
    "rewind": lambda run: control.rewind([run], to_step=2),
    "postpone": lambda run: control.set_delay([run], delay=60),
    "delete": lambda run: control.delete([run]),
    "reprioritise": lambda run: control.set_priority([run], 5),
    "annotate": lambda run: control.set_attributes([run], {"a": 1}),
}
GONE = "gone"


def said(verb, run):
    """Whether the verb was done."""
    try:
        return bool(VERBS[verb](run))
    except (TransitionRefused, WorkflowNotFound):
        return False


def after(verb, status):
    """The status that the verb leaves, by the table."""
    if verb == "delete":
        return GONE
    return status if verb in IN_PLACE else TRANSITIONS[verb][1]


def may(verb, status):
    return status != GONE and allows(verb, status)


def found(run):
    row = WorkflowStatus.objects.filter(pk=run).first()
    assert StepOutput.objects.filter(workflow_id=run).count() == (1 if row else 0)
    return row.status if row else GONE


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("first", VERBS)
def test_two_verbs_that_meet_are_done_one_after_the_other(race, first, status):
    ahead, behind = race.side(), race.side()
    for second in VERBS:
        run = WorkflowFactory.create(status=status).id
        StepFactory.create(workflow_id=run, step=1)
        ahead.begin()
        first_done = ahead.do(said, first, run)
        late = behind.start(said, second, run)
        if first_done and may(second, status):
            assert race_is_on(behind)
        ahead.commit()
        second_done = late.result(30)
        assert first_done == may(first, status)
        middle = after(first, status) if first_done else status
        if second_done:
            assert may(second, middle), second
        else:
            assert not (may(second, status) and may(second, middle)), second
        assert found(run) == (after(second, middle) if second_done else middle), second


def race_is_on(side):
    """Whether the side waits for the other's lock, as it comes to."""
    pause = threading.Event()
    return any(_waits(side.pid) or pause.wait(GLANCE) for _ in range(int(LONGEST / GLANCE)))
