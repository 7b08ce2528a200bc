"""What lost executors ran goes back to its place in line, whoever recovers it, and as often as it takes."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db.models import F

from django_durable.claim.claimer import Claimer
from django_durable.core.payloads.failures import summary
from django_durable.core.states import PARKED, Status
from django_durable.maintenance.recovery import Recovery
from django_durable.models import Executor, WorkflowStatus
from django_durable.signals import executor_lost
from tests.factories import ExecutorFactory
from tests.testapp.workflows import echo

LEASE = 30.0


class Clock:
    """A monotonic clock that goes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def recovery(db: None) -> Recovery:
    return Recovery("default", LEASE)


def running(count: int, executor: Executor) -> list[WorkflowStatus]:
    echo.enqueue_many([((number,), {}) for number in range(count)])
    Claimer(executor.id, "default").claim("default", count)
    return list(WorkflowStatus.objects.filter(executor=executor).order_by("seq"))


def test_what_a_lost_executor_ran_is_back_at_its_place_and_its_row_is_gone(recovery):
    before = running(3, ExecutorFactory.create(lost=True))
    done = recovery.run_once()
    assert (len(done.executors), done.returned, done.parked) == (1, 3, 0)
    assert not Executor.objects.exists()
    after = list(WorkflowStatus.objects.order_by("line"))
    assert [(run.id, run.seq, run.line) for run in after] == [(run.id, run.seq, run.seq) for run in before]
    for run in after:
        assert (run.status, run.claims) == (Status.ENQUEUED, 1)
        assert (run.claim_token, run.executor_id, run.claim_seq, run.started_at) == (None, None, None, None)


def test_what_a_living_executor_runs_is_left_alone(recovery):
    living = ExecutorFactory.create()
    before = running(2, living)
    assert recovery.run_once().runs == 0
    assert list(WorkflowStatus.objects.order_by("seq").values()) == [
        WorkflowStatus.objects.filter(pk=run.pk).values().get() for run in before
    ]
    assert Executor.objects.get() == living


def test_it_goes_on_in_batches_until_none_is_left(db):
    lost = [ExecutorFactory.create(lost=True), ExecutorFactory.create(lost=True)]
    for executor in lost:
        running(5, executor)
    done = Recovery("default", LEASE, batch=2).run_once()
    assert sorted(done.executors) == sorted(executor.id for executor in lost)
    assert done.returned == 10


def test_one_dispatched_too_often_is_parked_and_tells_who_waits_for_it(recovery, settings):
    settings.DURABLE = {"MAX_RECOVERY_ATTEMPTS": 2}
    executor = ExecutorFactory.create(lost=True)
    worn, fresh = running(2, executor)
    WorkflowStatus.objects.filter(pk=worn.pk).update(claims=4)
    WorkflowStatus.objects.filter(pk=fresh.pk).update(claims=3)
    done = recovery.run_once()
    assert (done.returned, done.parked) == (1, 1)
    worn.refresh_from_db()
    fresh.refresh_from_db()
    assert (worn.status, worn.claim_token, worn.line) == (PARKED, None, None)
    assert worn.completed_at is not None
    assert fresh.status == Status.ENQUEUED


def test_one_that_is_parked_says_why_and_what_to_do(recovery, settings):
    settings.DURABLE = {"MAX_RECOVERY_ATTEMPTS": 2}
    executor = ExecutorFactory.create(lost=True, hostname="kiln", pid=77)
    (worn,) = running(1, executor)
    WorkflowStatus.objects.filter(pk=worn.pk).update(claims=4)
    recovery.run_once()
    worn.refresh_from_db()
    told = summary(worn.error)
    assert told.type == "django_durable.exceptions.WorkflowParked"
    for part in (worn.id, "4 dispatches", str(executor.id), "process 77 on kiln", "then resume it"):
        assert part in told.message


def test_one_that_nobody_known_owned_is_parked_with_a_reason_too(db, settings):
    settings.DURABLE = {"MAX_RECOVERY_ATTEMPTS": 2}
    clock = Clock()
    recovery = Recovery("default", LEASE, clock=clock)
    executor = ExecutorFactory.create()
    (worn,) = running(1, executor)
    WorkflowStatus.objects.filter(pk=worn.pk).update(claims=4)
    Executor.objects.all().delete()
    recovery.run_once()
    clock.now = LEASE
    recovery.run_once()
    worn.refresh_from_db()
    assert worn.status == PARKED
    assert str(executor.id) in summary(worn.error).message


def test_an_executor_that_is_known_no_more_has_one_lease_to_turn_out_to_be_alive(db):
    clock = Clock()
    recovery = Recovery("default", LEASE, clock=clock)
    executor = ExecutorFactory.create()
    running(1, executor)
    Executor.objects.all().delete()
    assert recovery.run_once().runs == 0
    clock.now = LEASE - 1
    assert recovery.run_once().runs == 0
    clock.now = LEASE
    assert recovery.run_once().returned == 1


def test_an_owner_that_registers_again_is_no_orphan_any_more(db):
    clock = Clock()
    recovery = Recovery("default", LEASE, clock=clock)
    executor = ExecutorFactory.create()
    running(1, executor)
    Executor.objects.all().delete()
    recovery.run_once()
    Executor.objects.bulk_create([executor])
    clock.now = LEASE * 2
    assert recovery.run_once().runs == 0
    Executor.objects.all().delete()
    assert recovery.run_once().runs == 0


def test_a_run_that_another_transaction_holds_is_left_to_the_next_pass(transactional_db, django_db_blocker):
    from tests.race import Side

    executor = ExecutorFactory.create(lost=True)
    held, _ = running(2, executor)
    other = Side()
    try:
        other.begin()
        other.do(WorkflowStatus.objects.select_for_update().get, pk=held.pk)
        recovery = Recovery("default", LEASE)
        done = recovery.run_once()
        assert (done.returned, done.left, done.executors) == (1, {executor.id}, [])
        other.rollback()
        done = recovery.run_once()
        assert (done.returned, done.executors) == (1, [executor.id])
    finally:
        other.close()
    assert set(WorkflowStatus.objects.values_list("status", flat=True)) == {Status.ENQUEUED}


def test_who_was_lost_is_told_by_a_signal(recovery):
    heard = []

    def hear(sender: object, **facts: object) -> None:
        heard.append((facts["executor"], facts["successor"]))

    executor_lost.connect(hear)
    try:
        executor = ExecutorFactory.create(lost=True)
        recovery.run_once()
    finally:
        executor_lost.disconnect(hear)
    assert heard == [(executor.id, None)]


def test_a_receiver_that_raises_stops_nothing(recovery):
    def complain(**_: object) -> None:
        raise RuntimeError("not today")

    executor_lost.connect(complain)
    try:
        running(1, ExecutorFactory.create(lost=True))
        assert recovery.run_once().returned == 1
    finally:
        executor_lost.disconnect(complain)


def test_one_claimed_by_somebody_else_meanwhile_is_not_his_to_lose(recovery):
    """The condition is asked again where it is written."""
    lost = ExecutorFactory.create(lost=True)
    (run,) = running(1, lost)
    successor = ExecutorFactory.create()
    WorkflowStatus.objects.filter(pk=run.pk).update(
        executor=successor, claim_token=uuid4(), claims=F("claims") + 1
    )
    assert recovery.run_once().runs == 0
    run.refresh_from_db()
    assert (run.status, run.executor_id, run.claims) == (Status.PENDING, successor.id, 2)
