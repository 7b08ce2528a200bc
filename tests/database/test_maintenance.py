"""Deadlines, expiry and retention: who is ended, who is deleted, and above all who is not."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.expressions import CombinedExpression

from django_durable.claim.claimer import Claimer
from django_durable.core.planning.budget import limit_bucket, partition_bucket, queue_bucket
from django_durable.core.states import ACTIVE, FINAL, Status
from django_durable.engine.payloads import decode_error
from django_durable.exceptions import WorkflowCancelled
from django_durable.maintenance import pruner
from django_durable.maintenance.bounded import bounded
from django_durable.maintenance.deadlines import Deadlines
from django_durable.maintenance.pruner import Pruner
from django_durable.maintenance.release import release
from django_durable.models import (
    Event,
    EventHistory,
    Limit,
    Message,
    RateStart,
    StepOutput,
    StreamEntry,
    WorkflowStatus,
)
from django_durable.models.database import Clock
from tests.factories import ExecutorFactory, LimitFactory, QueueFactory, StepFactory, WorkflowFactory
from tests.testapp.workflows import echo

DAY = 86_400.0


def ago(seconds: float) -> CombinedExpression:
    return Clock() - timedelta(seconds=seconds)


class TestDeadlines:
    @pytest.mark.parametrize("status", sorted(ACTIVE))
    def test_a_run_past_its_deadline_is_cancelled_whatever_it_does(self, db, status):
        run = WorkflowFactory.create(status=status, deadline=ago(1), deduplication_id="k")
        assert Deadlines("default").run_once().timed_out == (run.id,)
        run.refresh_from_db()
        assert run.status == Status.CANCELLED
        assert run.completed_at is not None
        marks = ("claim_token", "executor_id", "claim_seq", "line", "arrival", "deduplication_id", "wake_at")
        assert [getattr(run, mark) for mark in marks] == [None] * len(marks)

    @pytest.mark.parametrize("status", sorted(FINAL))
    def test_one_that_ended_is_left_as_it_is(self, db, status):
        run = WorkflowFactory.create(status=status, deadline=ago(1), expires_at=ago(1))
        assert Deadlines("default").run_once().total == 0
        run.refresh_from_db()
        assert run.status == status

    def test_one_with_time_left_runs_on(self, db):
        WorkflowFactory.create(status=Status.PENDING, deadline=Clock() + timedelta(seconds=60))
        assert Deadlines("default").run_once().total == 0

    @pytest.mark.parametrize("status", [Status.DELAYED, Status.ENQUEUED])
    def test_one_not_started_in_time_expires(self, db, status):
        run = WorkflowFactory.create(status=status, expires_at=ago(1))
        assert Deadlines("default").run_once().expired == (run.id,)
        run.refresh_from_db()
        assert (run.status, run.line, run.delay_until) == (Status.CANCELLED, None, None)

    @pytest.mark.parametrize("status", [Status.PENDING, Status.WAITING])
    def test_one_that_started_does_not_expire(self, db, status):
        WorkflowFactory.create(status=status, expires_at=ago(1))
        assert Deadlines("default").run_once().total == 0

    @pytest.mark.parametrize(("column", "reason"), [("deadline", "deadline"), ("expires_at", "expired")])
    def test_the_row_says_why(self, db, column, reason):
        run = WorkflowFactory.create(status=Status.ENQUEUED, **{column: ago(1)})
        Deadlines("default").run_once()
        run.refresh_from_db()
        error = decode_error(run.error)
        assert isinstance(error, WorkflowCancelled)
        assert reason in str(error)

    def test_a_batch_is_no_more_than_it_says(self, db):
        for _ in range(5):
            WorkflowFactory.create(status=Status.ENQUEUED, deadline=ago(1))
        deadlines = Deadlines("default", batch=2)
        assert [len(deadlines.run_once().timed_out) for _ in range(4)] == [2, 2, 1, 0]

    def test_no_statement_outlives_its_bound(self, db):
        Deadlines("default").run_once()
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("30s",)  # for the rest of this test's transaction only
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            assert cursor.fetchone() == ("0",)  # which may rest

    def test_a_process_that_is_frozen_between_two_statements_loses_its_locks(self, transactional_db):
        with bounded("default"), connection.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            assert cursor.fetchone() == ("1min",)


class TestPruner:
    def test_what_ended_long_enough_ago_goes_with_all_that_hangs_on_it(self, db):
        old = WorkflowFactory.create(completed_at=ago(8 * DAY))
        young = WorkflowFactory.create(completed_at=ago(6 * DAY))
        for run in (old, young):
            hang_everything_on(run)
        pruned = Pruner("default", {"SUCCESS": 7 * DAY}).run_once()
        assert pruned.runs == {"SUCCESS": 1}
        for table in (WorkflowStatus, StepOutput, Event, EventHistory, Message, StreamEntry):
            owner = "id" if table is WorkflowStatus else "workflow_id"
            assert set(table.objects.values_list(owner, flat=True)) == {young.id}, table

    def test_each_status_has_an_age_of_its_own_and_one_without_is_kept(self, db):
        runs = {status: WorkflowFactory.create(status=status, completed_at=ago(5 * DAY)) for status in FINAL}
        Pruner("default", {"SUCCESS": DAY, "ERROR": 9 * DAY, "CANCELLED": None}).run_once()
        kept = set(WorkflowStatus.objects.values_list("id", flat=True))
        assert kept == {run.id for status, run in runs.items() if status != Status.SUCCESS}

    def test_by_default_nothing_goes(self, db, settings):
        WorkflowFactory.create(completed_at=ago(10_000 * DAY))
        assert Pruner("default", {}).run_once().total == 0

    @pytest.mark.parametrize("status", sorted(ACTIVE))
    @pytest.mark.parametrize("age", [0.0, DAY])
    def test_one_that_has_not_ended_never_goes_however_old(self, db, status, age):
        """B038"""
        run = WorkflowFactory.create(status=status, created_at="2020-01-01T00:00:00Z")
        retention = dict.fromkeys((*FINAL, *ACTIVE), age)
        assert Pruner("default", retention).run_once().total == 0
        assert WorkflowStatus.objects.filter(pk=run.pk).exists()

    def test_age_counts_from_the_end(self, db):
        """B039: a run that took longer than the retention is kept for it."""
        WorkflowFactory.create(created_at="2020-01-01T00:00:00Z", completed_at=ago(60))
        assert Pruner("default", {"SUCCESS": DAY}).run_once().total == 0

    def test_children_of_one_that_goes_stay_with_their_own_age(self, db):
        parent = WorkflowFactory.create(completed_at=ago(2 * DAY))
        child = WorkflowFactory.create(status=Status.PENDING, parent_id=parent.id)
        Pruner("default", {"SUCCESS": DAY}).run_once()
        assert list(WorkflowStatus.objects.values_list("id", flat=True)) == [child.id]

    def test_a_new_run_under_the_id_of_one_that_went_finds_no_step_of_it(self, db, drain):
        """B004"""
        run = echo.using(id="order-1").enqueue(1)
        drain()
        StepFactory.create(workflow_id=run.id, step=1, name="note", output='"old"')
        WorkflowStatus.objects.update(completed_at=ago(DAY))
        Pruner("default", {"SUCCESS": 1.0}).run_once()
        again = echo.using(id="order-1").enqueue(2)
        drain()
        assert again.result() == 2
        assert not StepOutput.objects.exists()

    def test_a_pass_is_a_batch_and_goes_on_behind_what_it_kept(self, db):
        for age in range(20, 10, -1):
            WorkflowFactory.create(completed_at=ago(age * DAY))
            WorkflowFactory.create(status=Status.ERROR, completed_at=ago(age * DAY))
        pruner = Pruner("default", {"SUCCESS": DAY}, batch=4)
        passes = [pruner.run_once() for _ in range(3)]
        assert [done.total for done in passes] == [4, 4, 2]
        assert [done.is_cut_short for done in passes] == [True, True, False]
        WorkflowFactory.create(completed_at=ago(30 * DAY))  # older than where the last pass ended
        assert pruner.run_once().total == 1

    def test_one_that_is_being_changed_waits_for_the_next_pass(self, transactional_db):
        from tests.race import Side

        run = WorkflowFactory.create(completed_at=ago(2 * DAY))
        other = Side()
        try:
            other.begin()
            other.do(WorkflowStatus.objects.filter(pk=run.pk).update, error=None)
            pruner = Pruner("default", {"SUCCESS": DAY})
            assert pruner.run_once().total == 0
            other.rollback()
            assert pruner.run_once().total == 1
        finally:
            other.close()

    def test_counted_starts_go_when_no_rate_looks_back_at_them(self, db):
        LimitFactory.create(key="k", max_starts=1, window=timedelta(hours=2))
        RateStart.objects.bulk_create(
            [RateStart(bucket="limit\x1fk", started_at=ago(hours * 3600)) for hours in (9, 5, 3, 1)]
        )
        assert Pruner("default", {}).run_once().starts == 3
        assert RateStart.objects.count() == 1
        Limit.objects.all().delete()
        assert Pruner("default", {}).run_once().starts == 1

    def test_each_rate_keeps_its_own_starts_however_long_others_look_back(self, db):
        LimitFactory.create(key="k", max_starts=1, window=timedelta(days=30))
        QueueFactory.create(
            name="q",
            rate_limit=2,
            rate_period=timedelta(hours=1),
            partition_rate_limit=1,
            partition_rate_period=timedelta(hours=3),
        )
        buckets = [limit_bucket("k"), queue_bucket("q"), partition_bucket("q", "p"), limit_bucket("gone")]
        RateStart.objects.bulk_create(
            RateStart(bucket=bucket, started_at=ago(hours * 3600))
            for bucket in buckets
            for hours in (4, 2, 0)
        )
        assert Pruner("default", {}).run_once().starts == 5
        left = Counter(RateStart.objects.values_list("bucket", flat=True))
        assert [left[bucket] for bucket in buckets] == [3, 1, 2, 1]

    @pytest.mark.parametrize("batch", [1, 3, 100])
    def test_batches_come_to_all_buckets_and_to_an_end(self, db, monkeypatch, batch):
        monkeypatch.setattr(pruner, "BUCKETS", 2)
        RateStart.objects.bulk_create(
            RateStart(bucket=limit_bucket(f"k{number % 5}"), started_at=ago(hours * 3600))
            for number, hours in enumerate([9, 9, 9, 9, 9, 0, 9, 9, 0, 9])
        )
        one = Pruner("default", {}, batch=batch)
        done = [one.run_once()]
        while done[-1].is_cut_short:
            done.append(one.run_once())
        assert sum(each.starts for each in done) == 8
        assert RateStart.objects.count() == 2


class TestRelease:
    def test_runs_given_back_stand_where_they_stood_and_their_claim_does_not_count(self, db):
        echo.enqueue_many([((number,), {}) for number in range(3)])
        before = list(WorkflowStatus.objects.order_by("seq").values("id", "seq", "line", "claims", "attempt"))
        runs = Claimer(ExecutorFactory.create().id, "default").claim("default", 2).runs
        assert release(runs, "default") == {run.id for run in runs}
        after = list(WorkflowStatus.objects.order_by("seq").values("id", "seq", "line", "claims", "attempt"))
        assert after == before

    def test_one_that_is_somebody_elses_by_now_is_not_given_back(self, db):
        echo.enqueue(1)
        (mine,) = Claimer(ExecutorFactory.create().id, "default").claim("default", 1).runs
        release([mine], "default")
        (theirs,) = Claimer(ExecutorFactory.create().id, "default").claim("default", 1).runs
        assert release([mine], "default") == set()
        assert WorkflowStatus.objects.get().claim_token == theirs.token

    def test_nothing_to_give_back_asks_nothing(self, db, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert release([], "default") == set()


def hang_everything_on(run: WorkflowStatus) -> None:
    now = Clock()
    StepFactory.create(workflow=run)
    Event.objects.create(workflow=run, key="k", value="1", updated_at=now)
    EventHistory.objects.create(workflow=run, key="k", step=1, value="1", set_at=now)
    Message.objects.create(workflow=run, topic="t", payload="1", sent_at=now)
    StreamEntry.objects.create(workflow=run, key="k", position=1, step=1, value="1", written_at=now)
