"""An executor's lease: written, renewed, lost, and never trusted longer than it is sure to run."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from django_durable.claim.claimer import Claimer
from django_durable.maintenance.recovery import Recovery
from django_durable.models import AppVersion, Executor, WorkflowStatus
from django_durable.models.database import Clock
from django_durable.signals import executor_lost
from django_durable.worker.lease.heartbeat import Heartbeat
from django_durable.worker.lease.registration import Registration
from tests.factories import ExecutorFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db


def registration(lease: float = 30.0, **more: object) -> Registration:
    return Registration(using="default", lease=lease, **more)


@pytest.fixture
def heartbeat() -> Heartbeat:
    return Heartbeat(registration())


def lease_left() -> timedelta:
    ends, now = Executor.objects.values_list("lease_expires_at", Clock()).get()
    left: timedelta = ends - now
    return left


def test_it_registers_first_and_may_be_claimed_under_from_then_on(heartbeat):
    changes = []
    heartbeat.on_change = lambda: changes.append(heartbeat.executor)
    assert heartbeat.executor is None
    heartbeat.tick()
    assert heartbeat.executor == Executor.objects.get().id
    assert changes == [heartbeat.executor]
    assert timedelta(seconds=29) < lease_left() <= timedelta(seconds=30)


def test_the_row_says_who_it_is(db):
    Heartbeat(registration(name="here", app_version="v1", queues=("a", "b"))).tick()
    row = Executor.objects.get()
    assert (row.hostname, row.app_version, row.queues) == ("here", "v1", ["a", "b"])
    assert row.started_at <= row.heartbeat_at


def test_a_version_is_registered_once_and_keeps_its_place(db):
    Heartbeat(registration(app_version="v1")).tick()
    first = AppVersion.objects.get()
    Heartbeat(registration(app_version="v1")).tick()
    assert AppVersion.objects.get().promoted_at == first.promoted_at


def test_each_start_is_somebody_else(db):
    one, other = Heartbeat(registration()), Heartbeat(registration())
    one.tick()
    other.tick()
    assert one.executor != other.executor


def test_it_renews_several_times_a_lease_and_the_first_time_early(heartbeat):
    assert 4 < heartbeat.tick() <= 5
    assert 9 < heartbeat.tick() <= 10


def test_a_renewal_extends_the_lease_from_now(heartbeat):
    heartbeat.tick()
    Executor.objects.update(lease_expires_at=Clock() + timedelta(seconds=1))
    heartbeat.tick()
    assert lease_left() > timedelta(seconds=29)


def test_a_lease_that_ran_out_is_not_claimed_under_and_told_once(caplog):
    heartbeat = Heartbeat(registration(lease=1e-9))
    with caplog.at_level(logging.INFO, "django_durable"):
        heartbeat.tick()
        assert heartbeat.executor is None
        Executor.objects.update(lease_expires_at=Clock() + timedelta(seconds=60))
        heartbeat.tick()
        heartbeat.tick()
    events = [record.event for record in caplog.records]
    assert events == ["registered", "lease_lapsed", "lease_renewed", "lease_lapsed", "lease_renewed"]


def test_a_lapsed_lease_that_nobody_took_goes_on(heartbeat):
    heartbeat.tick()
    executor = heartbeat.executor
    Executor.objects.update(lease_expires_at=Clock() - timedelta(seconds=60))
    heartbeat.tick()
    assert heartbeat.executor == executor
    assert lease_left() > timedelta(seconds=29)


def test_taken_for_lost_it_goes_on_as_another_and_says_so_once(heartbeat, caplog):
    heard = []

    def hear(sender: object, **facts: object) -> None:
        heard.append((facts["executor"], facts["successor"]))

    heartbeat.tick()
    former = heartbeat.executor
    Executor.objects.all().delete()
    executor_lost.connect(hear)
    try:
        with caplog.at_level(logging.ERROR, "django_durable"):
            heartbeat.tick()
            heartbeat.tick()
    finally:
        executor_lost.disconnect(hear)
    assert heartbeat.executor == Executor.objects.get().id != former
    assert heard == [(former, heartbeat.executor)]
    assert [record.event for record in caplog.records] == ["executor_lost"]


def test_it_leaves_nothing_behind_when_it_owns_nothing(heartbeat):
    heartbeat.tick()
    heartbeat.finish()
    assert heartbeat.executor is None
    assert not Executor.objects.exists()


def test_what_it_still_owns_at_its_end_need_not_wait_for_the_lease(heartbeat):
    echo.enqueue(1)
    heartbeat.tick()
    executor = heartbeat.executor
    assert executor is not None
    Claimer(executor, "default").claim("default", 1)
    heartbeat.finish()
    assert Recovery("default", 30.0).run_once().returned == 1
    assert WorkflowStatus.objects.get().executor_id is None


def test_finishing_before_it_began_does_nothing(heartbeat):
    heartbeat.finish()
    assert not Executor.objects.exists()


def test_the_file_is_touched_when_the_lease_is_renewed_and_only_then(tmp_path):
    file = tmp_path / "beat"
    heartbeat = Heartbeat(registration(), file)
    assert not file.exists()
    heartbeat.tick()
    assert file.exists()
    file.unlink()
    heartbeat.tick()
    assert file.exists()


def test_a_file_that_cannot_be_written_stops_no_heartbeat(tmp_path):
    heartbeat = Heartbeat(registration(), tmp_path / "no such folder" / "beat")
    heartbeat.tick()
    assert heartbeat.executor is not None


def test_each_renewal_tells_how_many_workers_live(heartbeat):
    told = []
    heartbeat.on_fleet = told.append
    heartbeat.tick()
    ExecutorFactory.create()
    ExecutorFactory.create(lost=True)
    heartbeat.tick()
    assert told == [1, 2]
