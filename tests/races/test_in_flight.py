"""A body goes on while its checkpoint is in flight, as far as its next durable call and no further."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from django_durable import set_event, sleep, step, workflow
from django_durable.core.outcomes import Completed, Outcome
from django_durable.core.run import Run
from django_durable.core.states import Status
from django_durable.engine.declared import workflows
from django_durable.engine.execution.recorder import settle_params
from django_durable.engine.execution.runner import Runner
from django_durable.engine.execution.writes import Checkpoint, Ending
from django_durable.engine.payloads import decode_error
from django_durable.exceptions import Superseded
from django_durable.models import Event, StepOutput, WorkflowStatus, database
from django_durable.worker.service import Service
from django_durable.worker.writing.recording import GroupRecorder
from tests.factories import ExecutorFactory
from tests.faults import fault
from tests.race import LONGEST
from tests.races.executions import cancel, claim, running, status
from tests.races.test_recorder import lock

pytestmark = pytest.mark.django_db(transaction=True)


class Slot:
    """A thread that executes one run; the recorder writes when the test says so."""

    def __init__(self) -> None:
        self.recorder = GroupRecorder("default")
        self.told: list[bool] = []
        self.thread = ThreadPoolExecutor(1)

    def begin(self, body: Callable[..., Any], **options: Any) -> Future[Outcome]:
        workflow(name="test.in_flight", **options)(body).using(id="w").enqueue()
        return self.go_on()

    def go_on(self) -> Future[Outcome]:
        """Claim the run, and execute it."""
        (run,) = claim()
        return self.thread.submit(self._execute, run)

    def _execute(self, run: Run) -> Outcome:
        try:
            return Runner(self.recorder, "default").run(run, lambda _, held: self.told.append(held))
        finally:
            connections.close_all()

    def tick_until(self, future: Future[Outcome]) -> Outcome:
        while not future.done() or self.recorder.backlog:
            self.recorder.tick()
        return future.result()

    def await_writes(self, count: int) -> None:
        while self.recorder.backlog < count:
            pass


@pytest.fixture
def slot() -> Iterator[Slot]:
    before = {id(declaration) for declaration in workflows}
    slot = Slot()
    yield slot
    slot.recorder.finish()
    slot.thread.shutdown()
    for declaration in [each for each in workflows if id(each) not in before]:
        workflows.remove(declaration)


@pytest.fixture
def served(slot: Slot) -> Iterator[Slot]:
    """With a service that writes at once."""
    service = Service("recorder", slot.recorder, using="default")
    slot.recorder.wake = lambda: service.wake(slot.recorder)
    service.start()
    yield slot
    assert service.stop(LONGEST)


@step
def plain(value: Any = None) -> Any:
    return value


@step
def broken() -> None:
    raise ValueError("out of paper")


def take_over() -> None:
    WorkflowStatus.objects.update(claim_token=ExecutorFactory.create().id)


def steps() -> list[int]:
    return list(StepOutput.objects.order_by("step").values_list("step", flat=True))


def test_a_body_goes_on_before_the_commit_and_its_next_step_begins_after_it(slot):
    seen: list[Any] = []
    went_on = threading.Event()

    @step
    def look() -> None:
        seen.append(steps())

    def body() -> None:
        plain()
        went_on.set()
        look()

    future = slot.begin(body)
    assert went_on.wait(LONGEST)
    assert (seen, steps()) == ([], [])
    slot.tick_until(future)
    assert seen == [[1]]
    assert steps() == [1, 2]


@pytest.mark.parametrize("call", [lambda: set_event("stage", 1), lambda: sleep(0)])
def test_whatever_durable_call_comes_next_waits_for_it(slot, call):
    called = threading.Event()

    def body() -> None:
        plain()
        called.set()
        call()

    future = slot.begin(body)
    assert called.wait(LONGEST)
    take_over()
    slot.tick_until(future)
    assert slot.told == [False]
    assert (steps(), Event.objects.count()) == ([], 0)


def test_the_last_checkpoint_and_the_outcome_are_one_transaction(slot, django_assert_num_queries):
    future = slot.begin(lambda: plain("done"))
    slot.await_writes(2)
    assert future.result(LONGEST) == Completed('"done"')
    assert slot.told == []
    with django_assert_num_queries(1):
        slot.recorder.tick()
    assert (slot.told, status(), steps()) == ([True], Status.SUCCESS, [1])


def test_who_loses_the_run_between_the_last_step_and_the_outcome_writes_neither(slot):
    slot.begin(lambda: plain())
    slot.await_writes(2)
    take_over()
    slot.recorder.tick()
    assert (slot.told, status(), steps()) == ([False], Status.PENDING, [])


def test_a_cancel_between_the_last_step_and_the_outcome_is_kept(slot):
    slot.begin(lambda: plain())
    slot.await_writes(2)
    cancel()
    slot.recorder.tick()
    assert (slot.told, status(), steps()) == ([False], Status.CANCELLED, [])


def test_a_body_that_swallows_the_loss_makes_no_further_call(slot):
    ran: list[int] = []
    raised: list[BaseException] = []
    called = threading.Event()

    @step
    def count() -> None:
        ran.append(1)

    def body() -> str:
        plain()
        called.set()
        for _ in range(3):
            try:
                count()
            except BaseException as error:
                raised.append(error)
        return "as if nothing was"

    future = slot.begin(body)
    assert called.wait(LONGEST)
    take_over()
    slot.tick_until(future)
    assert (ran, slot.told, status()) == ([], [False], Status.PENDING)
    assert [type(error) for error in raised] == [Superseded] * 3


def test_the_outcome_waits_with_the_checkpoint_for_a_row_that_is_locked(race, slot):
    slot.begin(lambda: plain())
    slot.await_writes(2)
    with race.holding(lock, "w"):
        slot.recorder.tick()
        assert (slot.told, steps()) == ([], [])
    while slot.recorder.backlog:
        slot.recorder.tick()
    assert (slot.told, status(), steps()) == ([True], Status.SUCCESS, [1])


def test_an_outcome_whose_checkpoint_was_left_for_a_lock_is_not_written_without_it(transactional_db):
    """The lock may be gone by the time of the second statement."""
    run = running()
    ending = Ending(run.fence, Completed("1"))

    def settle(step: int) -> list[Any]:
        params = settle_params([ending], {run.fence: step}) | {"wakes_waiters": False}
        return database.fetch("settle_free", params, "default")

    assert settle(1) == []
    assert status() == Status.PENDING
    StepOutput.objects.create(
        workflow_id=run.id, step=1, name="x", started_at=run.started_at, completed_at=run.started_at
    )
    assert len(settle(1)) == 1
    assert status() == Status.SUCCESS


def test_a_failed_step_is_recorded_before_a_retry_of_the_whole_drops_it(served):
    def body() -> None:
        plain()
        broken()

    future = served.begin(body, max_attempts=2, backoff=lambda *_: 60.0)
    future.result(LONGEST)
    while served.recorder.backlog:
        pass
    assert (status(), steps()) == (Status.DELAYED, [1])


def test_a_body_whose_last_value_cannot_be_stored_did_not_succeed(slot):
    future = slot.begin(lambda: plain("fine"))
    slot.await_writes(2)
    with fault("22000", times=100, verb="INSERT", table="durable_step_output"):
        slot.tick_until(future)
    assert (slot.told, status(), steps()) == ([True], Status.ERROR, [])
    error = WorkflowStatus.objects.get().error
    assert error is not None
    assert "a fault made for a test" in str(decode_error(error))


def test_a_body_cannot_go_on_behind_a_value_that_could_not_be_stored(slot):
    def body() -> str:
        for number in range(3):
            try:
                plain(number)
            except Exception:
                continue
        return "caught"

    future = slot.begin(body)
    slot.await_writes(1)
    with fault("22000", times=100, verb="INSERT", table="durable_step_output"):
        slot.tick_until(future)
    assert (status(), steps()) == (Status.ERROR, [])


def test_an_outage_in_flight_is_waited_for(served):
    went_on = threading.Event()

    def body() -> list[Any]:
        first = plain(1)
        went_on.set()
        return [first, plain(2), plain(3)]

    with fault("57P01", times=4, verb="INSERT", table="durable_step_output"):
        future = served.begin(body)
        assert went_on.wait(LONGEST)
        assert future.result(LONGEST) == Completed("[1,2,3]")
        while served.recorder.backlog:
            pass
    assert (served.told, status(), steps()) == ([True], Status.SUCCESS, [1, 2, 3])


def test_an_async_body_goes_on_once_its_checkpoint_is_committed(served):
    seen: list[list[int]] = []

    @step
    async def wait() -> None:
        pass

    async def body() -> None:
        await wait()
        seen.append(await _steps())

    served.begin(body).result(LONGEST)
    assert seen == [[1]]


def test_a_branch_goes_on_while_the_checkpoint_of_another_is_in_flight(slot):
    began = threading.Event()

    @step
    async def wait() -> None:
        pass

    @step
    async def begin() -> None:
        began.set()

    async def behind() -> None:
        while not slot.recorder.backlog:
            await asyncio.sleep(0)
        await begin()

    async def body() -> None:
        await asyncio.gather(wait(), behind())

    future = slot.begin(body)
    has_begun = began.wait(LONGEST)  # else it waits on the loop for a commit, and all other branches with it
    slot.tick_until(future)
    assert (has_begun, slot.told) == (True, [True])


async def _steps() -> list[int]:
    return [number async for number in StepOutput.objects.order_by("step").values_list("step", flat=True)]


def test_a_fork_that_would_wait_for_what_is_in_flight_ends(slot):
    run = running()
    receipt = slot.recorder.hand_over(Checkpoint(run.id, run.token, 1, "step", "1", None, "json"))
    child = os.fork()
    if child == 0:
        receipt.wait()
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    slot.recorder.tick()
