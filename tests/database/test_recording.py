"""Group commit: what many slots write goes in together, each guarded by its own claim, and none gets lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from django_durable import sql
from django_durable.claim.claimer import Claimer
from django_durable.core.fence import Fence
from django_durable.core.outcomes import Completed, Deferred, Overtaken
from django_durable.core.portions import CHARACTERS_A_STATEMENT
from django_durable.core.run import Run
from django_durable.core.states import Status
from django_durable.engine.execution.recorder import settle_params
from django_durable.engine.execution.writes import Checkpoint, Ending
from django_durable.engine.payloads import decode_error
from django_durable.exceptions import Superseded
from django_durable.models import StepOutput, WorkflowStatus
from django_durable.worker.service import Service
from django_durable.worker.writing.recording import GroupRecorder
from tests.factories import ExecutorFactory
from tests.faults import ENDS, fault
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
LONGEST = 30
MANY_STEPS = """
INSERT INTO durable_step_output (workflow_id, step, name, serialization, attempts, started_at, completed_at)
SELECT 'run' || i, 1, 'step', 'json', 1, now(), now() FROM generate_series(1, 10000) AS i
"""


class Desk:
    """A recorder that writes only when it is told to, so that what waits together is known."""

    def __init__(self) -> None:
        self.recorder = GroupRecorder("default")
        self.told: list[tuple[str, bool]] = []
        self.threads = ThreadPoolExecutor(50)

    def checkpoint(self, run: Run, step: int = 1, output: str = '"x"') -> Future[None]:
        """From a slot's thread; returns once it waits there."""
        before = self.recorder.backlog
        future = self.threads.submit(write, self.recorder, checkpoint(run, step, output))
        while self.recorder.backlog == before and not future.done():
            pass
        return future

    def end(self, run: Run, outcome: Any = None) -> None:
        ending = Ending(run.fence, outcome or Completed("1"))
        self.recorder.end(ending, lambda held: self.told.append((run.id, held)))


def write(recorder: GroupRecorder, checkpoint: Checkpoint) -> None:
    recorder.hand_over(checkpoint).wait()


def checkpoint(run: Run, step: int = 1, output: str = '"x"') -> Checkpoint:
    return Checkpoint(run.id, run.token, step, "step", output, None, "json")


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.threads.shutdown()


@pytest.fixture
def service() -> Iterator[GroupRecorder]:
    recorder = GroupRecorder("default")
    service = Service("recorder", recorder, using="default")
    recorder.wake = lambda: service.wake(recorder)
    service.start()
    yield recorder
    assert service.stop(LONGEST)


def claimed(count: int) -> list[Run]:
    echo.enqueue_many([((number,), {}) for number in range(count)])
    return Claimer(ExecutorFactory.create().id, "default").claim("default", count).runs


def steps() -> list[tuple[str, int, str]]:
    return list(
        StepOutput.objects.order_by("workflow_id", "step").values_list("workflow_id", "step", "output")
    )


def statuses() -> dict[str, str]:
    return dict(WorkflowStatus.objects.values_list("id", "status"))


def cut() -> None:
    """End every other connection to the database from the server's side."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_all_that_waits_goes_in_one_statement(desk, django_assert_num_queries):
    runs = claimed(20)
    waiting = [desk.checkpoint(run) for run in runs]
    with django_assert_num_queries(1):
        desk.recorder.tick()
    for future in waiting:
        future.result(LONGEST)
    assert len(steps()) == 20


def test_large_values_do_not_all_go_in_one(desk, django_assert_num_queries):
    """A server hangs up on a statement that is too long, which looks like an outage, time and again."""
    half = '"' + "x" * (CHARACTERS_A_STATEMENT // 2) + '"'
    first, second, third = claimed(3)
    desk.recorder.hand_over(checkpoint(first, output=half))
    desk.recorder.end(Ending(second.fence, Completed(half)), lambda held: None)
    desk.recorder.hand_over(checkpoint(third))
    with django_assert_num_queries(2):
        desk.recorder.tick()
    assert (len(steps()), statuses()[second.id]) == (2, Status.SUCCESS)


def test_many_endings_look_up_their_steps_one_by_one():
    """However many they are, and however few steps there are yet: not in a hash of the whole table."""
    fences = [Fence(f"run{number}", UUID(int=number)) for number in range(200)]
    endings = [Ending(fence, Completed("1")) for fence in fences]
    params = settle_params(endings, dict.fromkeys(fences, 1)) | {"wakes_waiters": False}
    with connection.cursor() as cursor:
        cursor.execute(MANY_STEPS)
        cursor.execute("ANALYZE durable_step_output")
        cursor.execute(f"EXPLAIN {sql.load('settle_free')}", params)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "using durable_step_output_pkey" in plan
    assert "Seq Scan on durable_step_output" not in plan


def test_all_that_ended_goes_in_one_statement(desk, django_assert_num_queries):
    for run in claimed(20):
        desk.end(run)
    with django_assert_num_queries(1):
        desk.recorder.tick()
    assert set(statuses().values()) == {Status.SUCCESS}
    assert {held for _, held in desk.told} == {True}


def test_a_caller_goes_on_when_its_row_is_committed_and_not_before(desk):
    (run,) = claimed(1)
    waiting = desk.checkpoint(run)
    assert not waiting.done()
    desk.recorder.tick()
    waiting.result(LONGEST)
    assert steps() == [(run.id, 1, '"x"')]


def test_an_ending_never_overtakes_the_checkpoints_of_its_run(desk):
    """A thread of a body that still waits when the body has returned."""
    (run,) = claimed(1)
    waiting = desk.checkpoint(run)
    desk.end(run)
    desk.recorder.tick()
    waiting.result(LONGEST)
    assert statuses() == {run.id: Status.SUCCESS}


def test_each_is_judged_by_its_own_claim(desk):
    mine, lost = claimed(2)
    WorkflowStatus.objects.filter(pk=lost.id).update(claim_token=ExecutorFactory.create().id)
    waiting = {run.id: desk.checkpoint(run) for run in (mine, lost)}
    desk.recorder.tick()
    waiting[mine.id].result(LONGEST)
    with pytest.raises(Superseded) as refused:
        waiting[lost.id].result(LONGEST)
    assert refused.value.fence == lost.fence
    assert [row[0] for row in steps()] == [mine.id]


def test_two_executions_of_one_run_in_one_batch_are_told_apart(desk):
    (former,) = claimed(1)
    present = former._replace(token=ExecutorFactory.create().id)
    WorkflowStatus.objects.update(claim_token=present.token)
    lost, held = desk.checkpoint(former, output='"old"'), desk.checkpoint(present, output='"new"')
    desk.recorder.tick()
    held.result(LONGEST)
    assert isinstance(lost.exception(LONGEST), Superseded)
    assert steps() == [(former.id, 1, '"new"')]
    desk.end(former, Completed('"old"'))
    desk.end(present, Completed('"new"'))
    desk.recorder.tick()
    assert [held for _, held in desk.told] == [False, True]
    assert WorkflowStatus.objects.get().output == '"new"'


def test_what_was_superseded_anyway_is_answered_at_once(desk):
    (run,) = claimed(1)
    desk.end(run, Overtaken())
    assert desk.told == [(run.id, False)]
    assert desk.recorder.backlog == 0


def test_a_row_that_cannot_be_stored_is_its_callers_failure_and_nobody_elses(desk):
    good, bad = claimed(2)
    waiting = desk.checkpoint(good), desk.checkpoint(bad, output="a\x00b")
    desk.recorder.tick()
    waiting[0].result(LONGEST)
    assert waiting[1].exception(LONGEST) is not None
    assert [row[0] for row in steps()] == [good.id]


def test_an_outcome_that_cannot_be_stored_ends_in_an_error_that_says_so(desk):
    good, bad = claimed(2)
    desk.end(good)
    desk.end(bad, Completed("a\x00b"))
    desk.recorder.tick()
    assert statuses() == {good.id: Status.SUCCESS, bad.id: Status.ERROR}
    error = WorkflowStatus.objects.get(pk=bad.id).error
    assert error is not None
    assert "NUL" in str(decode_error(error))


def test_an_outcome_that_no_form_can_store_sets_its_run_aside(desk):
    (run,) = claimed(1)
    desk.end(run)
    with fault("P0001", times=1_000, condition=ENDS):
        desk.recorder.tick()
    assert statuses() == {run.id: Status.DELAYED}


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_conflict_is_tried_again_at_once(desk, sqlstate):
    (run,) = claimed(1)
    desk.end(run)
    with fault(sqlstate, times=2, condition=ENDS):
        desk.recorder.tick()
    assert statuses() == {run.id: Status.SUCCESS}


@pytest.mark.parametrize("sqlstate", ["57P01", "53300", "53100", "25006", "58030", "55P03"])
def test_a_database_that_stores_nothing_just_now_is_waited_for_and_nothing_fails(service, sqlstate):
    runs = claimed(3)
    ended = threading.Event()
    with fault(sqlstate, times=4, condition=ENDS):
        for run in runs[:2]:
            service.end(Ending(run.fence, Completed("1")), lambda held: None)
        service.end(Ending(runs[2].fence, Completed("1")), lambda held: ended.set())
        assert ended.wait(LONGEST)
    assert set(statuses().values()) == {Status.SUCCESS}


def test_what_waits_while_the_connection_is_cut_is_written_when_it_is_back(service):
    runs = claimed(40)
    with ThreadPoolExecutor(40) as slots:

        def work(run: Run) -> None:
            for step in range(1, 6):
                write(service, checkpoint(run, step))

        futures = [slots.submit(work, run) for run in runs]
        for _ in range(5):
            cut()
        for future in futures:
            future.result(LONGEST)
    assert StepOutput.objects.count() == 200


def test_one_that_is_asked_to_end_writes_what_it_has_first():
    recorder = GroupRecorder("default")
    service = Service("recorder", recorder, using="default")
    told = []
    for run in claimed(5):
        recorder.end(Ending(run.fence, Completed("1")), told.append)
    service.start()
    assert service.stop(LONGEST)
    assert told == [True] * 5


def test_after_its_end_whoever_comes_is_told_that_his_run_is_given_back(desk):
    (run,) = claimed(1)
    desk.recorder.finish()
    with pytest.raises(Superseded):
        desk.recorder.hand_over(checkpoint(run))
    desk.end(run)
    assert desk.told == [(run.id, False)]


def test_a_deferral_does_not_hold_up_the_rest(desk):
    later, done = claimed(2)
    desk.end(later, Deferred(60.0, failures=1))
    desk.end(done)
    desk.recorder.tick()
    assert statuses() == {later.id: Status.DELAYED, done.id: Status.SUCCESS}


def test_one_who_raises_on_hearing_of_it_hurts_nobody(desk):
    first, second = claimed(2)

    def complain(held: bool) -> None:
        raise RuntimeError("not today")

    desk.recorder.end(Ending(first.fence, Completed("1")), complain)
    desk.end(second)
    desk.recorder.tick()
    assert desk.told == [(second.id, True)]
    assert desk.recorder.backlog == 0
