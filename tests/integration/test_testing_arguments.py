"""What the test tools make of arguments: those of runs, and their own."""

from __future__ import annotations

import pytest

from django_durable import sleep, step_context, workflow
from django_durable.core.states import Status
from django_durable.engine.declared import workflows
from django_durable.exceptions import InvalidOption, OutsideWorkflow
from django_durable.models import WorkflowStatus
from django_durable.testing import assert_enqueued, drain, shift

pytestmark = pytest.mark.django_db


@pytest.fixture
def pack():
    @workflow(name="testing.pack")
    def pack(item, /, size=1, *rest, wrap=False, **labels):
        return item

    yield pack
    workflows.remove(pack.declaration)


CALLS = [
    (("cup", 2), {}),
    (("cup",), {"size": 2}),
    (("cup",), {"size": 2, "wrap": False}),
    (("cup", 2), {"wrap": False}),
]


@pytest.mark.parametrize(("args", "kwargs"), CALLS)
@pytest.mark.parametrize(("enqueued_args", "enqueued_kwargs"), CALLS)
def test_an_argument_is_the_same_however_it_is_given(pack, args, kwargs, enqueued_args, enqueued_kwargs):
    run = pack.enqueue(*enqueued_args, **enqueued_kwargs)
    assert assert_enqueued(pack, *args, **kwargs).id == run.id
    assert assert_enqueued("testing.pack", *args, **kwargs).id == run.id


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (("cup",), {}),
        (("cup", 2, 3), {}),
        (("cup", 2), {"label": "fragile"}),
        (("cup", 2), {"wrap": True}),
        ((), {"item": "cup"}),
    ],
)
def test_other_arguments_are_others(pack, args, kwargs):
    pack.enqueue("cup", 2)
    with pytest.raises(AssertionError, match="'cup', 2"):
        assert_enqueued(pack, *args, **kwargs)


def test_arguments_of_code_that_is_not_here_are_compared_as_they_are():
    WorkflowStatus.objects.all().delete()
    with pytest.raises(AssertionError, match="nothing"):
        assert_enqueued("testing.elsewhere", 1)


def test_no_length_of_time_is_none(pack):
    with pytest.raises(InvalidOption, match="by must be a timedelta or a number of seconds; it is None"):
        shift(None)

    @workflow(name="testing.sleeps")
    def sleeps():
        sleep(None)

    try:
        run = sleeps.enqueue()
        drain()
    finally:
        workflows.remove(sleeps.declaration)
    assert run.status == Status.ERROR
    with pytest.raises(InvalidOption, match=r"the delay of sleep\(\) must be"):
        run.result()


def test_a_step_context_outside_of_a_step_is_told_where_there_is_one():
    with pytest.raises(OutsideWorkflow, match=r"^step_context\(\) can only be called from a step that runs$"):
        step_context()
