"""A body's durable calls come from its own thread, whatever runs them; those of other threads are refused."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.sync import async_to_sync

from django_durable import set_event, sleep, step, workflow
from django_durable.core.states import Status
from django_durable.exceptions import AnotherThread
from django_durable.models import StepOutput

pytestmark = pytest.mark.django_db


@step
def double(number):
    return 2 * number


@step
async def triple(number):
    return 3 * number


CALLS = {
    "a step": lambda: double(1),
    "an event": lambda: set_event("at", 1),
    "a sleep": lambda: sleep(0),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_out_of_a_thread_of_the_body_is_refused_before_it_takes_a_number(drain, call):
    @workflow(name="threads.pool")
    def body():
        with ThreadPoolExecutor(1) as pool:
            refused = pool.submit(contextvars.copy_context().run, CALLS[call]).exception()
        return [type(refused).__name__, double(4)]

    run = body.enqueue()
    drain()
    assert run.result() == ["AnotherThread", 8]
    assert list(StepOutput.objects.values_list("step", flat=True)) == [1]


def test_threads_inside_a_step_call_steps_plainly(drain):
    @step
    def many():
        with ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(contextvars.copy_context().run, double, number) for number in range(3)]
            return [call.result() for call in calls]

    @workflow(name="threads.inside")
    def body():
        return many()

    run = body.enqueue()
    drain()
    assert run.result() == [0, 2, 4]
    assert StepOutput.objects.count() == 1


def test_a_loop_that_a_plain_body_runs_itself_is_refused_in_words(drain):
    @workflow(name="threads.loop")
    def body():
        async def both():
            return await asyncio.gather(double.acall(1), triple(2))

        return asyncio.run(both())

    run = body.enqueue()
    drain()
    assert run.status == Status.ERROR
    with pytest.raises(AnotherThread, match="async_to_sync"):
        run.result()


def test_async_code_of_a_plain_body_is_numbered_in_the_order_of_its_calls(drain):
    @workflow(name="threads.helper")
    def body():
        async def all_three():
            return await asyncio.gather(triple(1), double.acall(1), triple(2))

        return async_to_sync(all_three)()

    run = body.enqueue()
    drain()
    assert run.result() == [3, 2, 6]
    names = StepOutput.objects.order_by("step").values_list("name", flat=True)
    assert list(names) == ["triple", "double", "triple"]
