"""A run whose row somebody holds locked keeps nobody waiting but itself, and is told the truth afterwards."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from django_durable.core.outcomes import Completed, Deferred, Failed, Outcome, Waiting
from django_durable.core.run import Run
from django_durable.core.states import Status
from django_durable.core.waits import Wait
from django_durable.engine.execution.writes import Checkpoint, Ending
from django_durable.exceptions import Superseded
from django_durable.models import StepOutput, WorkflowStatus
from django_durable.worker.service import Service
from django_durable.worker.slots.returns import Returns
from django_durable.worker.writing.recording import GroupRecorder
from tests.factories import ExecutorFactory
from tests.race import LONGEST
from tests.races.executions import running, status

SLEEP = Waiting(Wait(until=datetime.now(UTC) + timedelta(hours=1)))
OUTCOMES: list[Outcome] = [Completed("1"), Failed("{}"), Deferred(60.0, failures=1), SLEEP]


class Desk:
    """A recorder on a connection of its own, which writes when it is told to."""

    def __init__(self, race: Any) -> None:
        self.side = race.side()
        self.recorder = GroupRecorder("default")
        self.told: list[tuple[str, bool]] = []
        self.slots = ThreadPoolExecutor(20)

    def checkpoint(self, run: Run, step: int = 1) -> Future[None]:
        row = Checkpoint(run.id, run.token, step, "step", "1", None, "json")
        before = self.recorder.backlog
        future = self.slots.submit(write, self.recorder, row)
        while self.recorder.backlog == before and not future.done():
            pass
        return future

    def end(self, run: Run, outcome: Outcome = OUTCOMES[0]) -> None:
        self.recorder.end(Ending(run.fence, outcome), lambda held: self.told.append((run.id, held)))

    def tick(self) -> float:
        """All that can be done now; returns how long it rests then."""
        while not (rest := self.side.do(self.recorder.tick)):
            pass
        return rest

    def tick_until_all_is_written(self) -> None:
        while self.recorder.backlog:
            self.tick()


@pytest.fixture
def desk(race: Any) -> Iterator[Desk]:
    desk = Desk(race)
    yield desk
    for side in race.sides:
        side.close()
    desk.recorder.finish()
    desk.slots.shutdown()
    race.sides.clear()


def write(recorder: GroupRecorder, checkpoint: Checkpoint) -> None:
    recorder.hand_over(checkpoint).wait()


def lock(workflow_id: str) -> None:
    list(WorkflowStatus.objects.select_for_update().filter(pk=workflow_id))


def steps() -> list[tuple[str, int]]:
    return list(StepOutput.objects.order_by("workflow_id", "step").values_list("workflow_id", "step"))


def test_a_checkpoint_whose_row_is_locked_holds_up_no_other(race, desk):
    held, free = running("held"), running("free")
    with race.holding(lock, "held"):
        waiting = desk.checkpoint(held), desk.checkpoint(free)
        desk.tick()
        waiting[1].result(LONGEST)
        assert steps() == [("free", 1)]
        assert not waiting[0].done()
    desk.tick_until_all_is_written()
    waiting[0].result(LONGEST)
    assert steps() == [("free", 1), ("held", 1)]


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: type(outcome).__name__)
def test_an_ending_whose_row_is_locked_holds_up_no_other(race, desk, outcome):
    held, free = running("held"), running("free")
    with race.holding(lock, "held"):
        desk.end(held, outcome)
        desk.end(free, outcome)
        desk.tick()
        assert desk.told == [("free", True)]
    desk.tick_until_all_is_written()
    assert desk.told == [("free", True), ("held", True)]
    assert status("held") == status("free") != Status.PENDING


def test_an_ending_that_wakes_a_run_whose_row_is_locked_holds_up_no_other(race, desk):
    parent, held, free = running("parent"), running("held"), running("free")
    WorkflowStatus.objects.filter(pk__in=["held", "free"]).update(awaited=True)
    desk.end(parent, Waiting(Wait(runs=("held",))))
    desk.tick_until_all_is_written()
    with race.holding(lock, "parent"):
        desk.end(held)
        desk.end(free)
        desk.tick()
        assert desk.told[1:] == [("free", True)]
        assert status("held") == Status.PENDING
    desk.tick_until_all_is_written()
    assert desk.told[2:] == [("held", True)]
    assert WorkflowStatus.objects.get(pk="parent").wake_at is not None


def test_an_ending_does_not_overtake_the_checkpoint_that_waits_for_the_lock(race, desk):
    run = running()
    with race.holding(lock, run.id):
        waiting = desk.checkpoint(run)
        desk.tick()
        desk.end(run)
    desk.tick_until_all_is_written()
    waiting.result(LONGEST)
    assert (desk.told, steps()) == ([(run.id, True)], [(run.id, 1)])


def test_nor_does_a_later_checkpoint(race, desk):
    run = running()
    with race.holding(lock, run.id):
        first = desk.checkpoint(run, 1)
        desk.tick()
        second = desk.checkpoint(run, 2)
        desk.tick()
        assert not second.done()
    desk.tick_until_all_is_written()
    first.result(LONGEST)
    second.result(LONGEST)


@pytest.mark.parametrize("commits", [True, False])
def test_who_loses_the_run_while_its_row_is_locked_is_told_so(race, desk, commits):
    run, also = running("w"), running("also")

    def take_over() -> None:
        token = ExecutorFactory.create().id
        WorkflowStatus.objects.filter(pk__in=["w", "also"]).update(claim_token=token)

    with race.holding(take_over, commits=commits):
        waiting = desk.checkpoint(run)
        desk.end(also)
        desk.tick()
        assert not waiting.done()
        assert desk.told == []
    desk.tick_until_all_is_written()
    assert isinstance(waiting.exception(LONGEST), Superseded) is commits
    assert desk.told == [("also", not commits)]


def test_a_recorder_with_nothing_but_locked_rows_rests(race, desk):
    run = running()
    with race.holding(lock, run.id):
        desk.end(run)
        assert 0 < desk.tick() < math.inf
    desk.tick_until_all_is_written()


def test_a_recorder_that_ends_gives_up_what_stays_locked_and_tells_its_callers(race, desk):
    held, late, free = running("held"), running("late"), running("free")
    with race.holding(lock, "held"), race.holding(lock, "late"):
        waiting = desk.checkpoint(held)
        desk.end(late)
        desk.end(free)
        desk.recorder.give_up_at(time.monotonic())
        desk.side.do(desk.recorder.finish)
        assert isinstance(waiting.exception(LONGEST), Superseded)
        assert desk.told == [("free", True), ("late", False)]
    assert status("late") == Status.PENDING


def test_a_service_writes_what_is_free_and_later_what_was_not(race):
    recorder = GroupRecorder("default")
    service = Service("recorder", recorder, using="default")
    recorder.wake = lambda: service.wake(recorder)
    runs = [running(name) for name in "abc"]
    service.start()
    with ThreadPoolExecutor(3) as slots:
        with race.holding(lock, "b"):
            futures = {
                run.id: slots.submit(
                    write, recorder, Checkpoint(run.id, run.token, 1, "step", "1", None, "json")
                )
                for run in runs
            }
            for name in "ac":
                futures[name].result(LONGEST)
            assert not futures["b"].done()
        futures["b"].result(LONGEST)
    assert service.stop(LONGEST)


def test_a_run_to_give_back_whose_row_is_locked_holds_up_no_other(race):
    side, returns = race.side(), Returns("default")
    held, free = running("held"), running("free")
    with race.holding(lock, "held"):
        returns.hand_over([held, free])
        assert 0 < side.do(returns.tick) < math.inf
        assert (status("free"), status("held")) == (Status.ENQUEUED, Status.PENDING)
        assert (returns.released, returns.backlog) == (1, 1)
    side.do(returns.finish)
    assert status("held") == Status.ENQUEUED


def test_a_run_to_give_back_whose_row_stays_locked_is_left_at_the_end(race):
    side, returns = race.side(), Returns("default")
    held = running("held")
    with race.holding(lock, "held"):
        returns.hand_over([held])
        returns.give_up_at(time.monotonic())
        side.do(returns.finish)
    assert status("held") == Status.PENDING
