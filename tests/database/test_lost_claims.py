"""A claim that is committed while its answer is lost: its runs go on in the worker that made it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test import override_settings

from django_durable.claim.claimer import Claimer
from django_durable.conf import settings
from django_durable.core.states import Status
from django_durable.models import Queue
from django_durable.worker.polling import strays as straying
from django_durable.worker.polling.bell import Bell
from django_durable.worker.polling.strays import Strays
from django_durable.worker.process.options import WorkerOptions
from django_durable.worker.process.tree import Tree
from tests.factories import ExecutorFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = 1.0
LONGEST = 12.0  # many leases
HOLD_THE_COMMIT = """
CREATE SEQUENCE durable_held;
CREATE FUNCTION durable_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('durable_held') = 1 THEN
        PERFORM pg_advisory_xact_lock(42);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER durable_hold AFTER UPDATE ON durable_workflow_status DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.status = 'ENQUEUED' AND NEW.status = 'PENDING') EXECUTE FUNCTION durable_hold();
"""
LET_COMMITS_GO = """
DROP TRIGGER durable_hold ON durable_workflow_status;
DROP FUNCTION durable_hold;
DROP SEQUENCE durable_held;
"""
WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"


@contextmanager
def worker() -> Iterator[Tree]:
    tree = Tree(WorkerOptions(using="default", slots=3, poll_interval=0.1), settings(), Bell())
    tree.start()
    try:
        yield tree
    finally:
        tree.stop_claiming()
        assert tree.finish(time.monotonic() + 20)


def until(fact, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            return False
    return True


def someone_waits(cursor) -> bool:
    cursor.execute(WAITS)
    return cursor.fetchone() != (0,)


@pytest.mark.parametrize("limits", [{}, {"concurrency": 5}], ids=["in one statement", "planned"])
def test_runs_of_a_claim_whose_answer_was_lost_go_on(limits):
    Queue.objects.set("default", **limits)
    run = echo.enqueue(1)
    with connection.cursor() as cursor:
        cursor.execute(HOLD_THE_COMMIT)
        cursor.execute("SELECT pg_advisory_lock(42)")
    try:
        with override_settings(DURABLE={"LEASE": LEASE}), worker() as tree:
            with connection.cursor() as cursor:
                assert until(lambda: someone_waits(cursor), 10)
                tree.services["poller"].sever()
                cursor.execute("SELECT pg_advisory_unlock(42)")
            assert until(lambda: run.status == Status.PENDING, 5)
            later = echo.enqueue(2)
            assert until(lambda: later.status == Status.SUCCESS, LONGEST)
            until(lambda: run.status == Status.SUCCESS, LONGEST)
            assert run.status == Status.SUCCESS
    finally:
        with connection.cursor() as cursor:
            cursor.execute(LET_COMMITS_GO)


class TestStrays:
    @pytest.fixture
    def claimer(self) -> Claimer:
        return Claimer(ExecutorFactory.create().id, "default")

    @pytest.fixture
    def strays(self, monkeypatch) -> Strays:
        monkeypatch.setattr(straying, "SOON", 0.0)
        found = Strays("default")
        found.note_lost_answer()
        return found

    def test_what_is_known_is_none_and_what_others_run_neither(self, claimer, strays):
        echo.enqueue(1)
        known = claimer.claim("default", 5).runs
        lost = echo.enqueue(2)
        claimer.claim("default", 5)
        echo.enqueue(3)
        Claimer(ExecutorFactory.create().id, "default").claim("default", 5)
        (stray,) = strays.look(claimer.identity.executor, known)
        assert stray.id == lost.id

    def test_what_ended_is_none(self, claimer, strays):
        run = echo.enqueue(1)
        claimer.claim("default", 5)
        run.cancel()
        assert strays.look(claimer.identity.executor, []) == []

    def test_nothing_is_looked_for_while_each_claim_is_answered(self, claimer, django_assert_num_queries):
        echo.enqueue(1)
        claimer.claim("default", 5)
        with django_assert_num_queries(0):
            assert Strays("default").look(claimer.identity.executor, []) == []

    def test_looks_go_on_at_growing_pauses_as_a_commit_may_still_be_under_way(self, claimer, monkeypatch):
        clock = SimpleNamespace(now=0.0)
        monkeypatch.setattr(straying, "time", SimpleNamespace(monotonic=lambda: clock.now))
        strays, pauses = Strays("default"), []
        strays.note_lost_answer()
        for _ in range(9):
            pauses.append(strays.due - clock.now)
            clock.now = strays.due
            strays.look(claimer.identity.executor, [])
        assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
