"""A commit whose answer is lost with its connection was a commit: nothing of it happens twice."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest
from django.db import OperationalError, connection, transaction

from django_durable import control, send, step, workflow, workflow_id
from django_durable.core.states import Status
from django_durable.engine.execution.outages import is_outage
from django_durable.models import Message
from tests.testapp.models import Ledger

pytestmark = pytest.mark.django_db(transaction=True)


def cut_own_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


@pytest.fixture
def drain(transactional_db):
    from tests.drain import Drain

    return Drain()


def test_an_atomic_step_whose_commit_was_not_answered_is_not_done_twice(drain):
    tries = []

    @step(atomic=True)
    def book() -> int:
        Ledger.objects.create(run_id=str(workflow_id()), step="book")
        tries.append(1)
        if len(tries) == 1:
            transaction.on_commit(cut_own_connection)
        return len(tries)

    @workflow(name="test.book")
    def body() -> int:
        return book()

    run = body.enqueue()
    drain()
    assert run.result() == 1
    assert len(tries) == 2
    assert Ledger.objects.filter(run_id=run.id).count() == 1
    assert run.status == Status.SUCCESS


def test_an_atomic_step_that_lost_its_connection_before_the_commit_is_done_anew(drain):
    tries = []

    @step(atomic=True)
    def book() -> int:
        Ledger.objects.create(run_id=str(workflow_id()), step="book")
        tries.append(1)
        if len(tries) == 1:
            cut_own_connection()
        return len(tries)

    @workflow(name="test.book_anew")
    def body() -> int:
        return book()

    run = body.enqueue()
    drain()
    assert run.result() == 2
    assert Ledger.objects.filter(run_id=run.id).count() == 1


def test_a_connection_lost_inside_an_atomic_block_is_an_outage_though_another_is_open_by_then(drain):
    with pytest.raises(OperationalError) as lost, transaction.atomic():
        cut_own_connection()
    assert connection.is_usable()
    assert is_outage(lost.value, "default")


HOLD_THE_COMMIT = """
CREATE SEQUENCE durable_held;
CREATE FUNCTION durable_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('durable_held') = 1 THEN
        PERFORM pg_advisory_xact_lock(42);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER durable_hold AFTER INSERT ON durable_step_output DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION durable_hold();
"""
LET_COMMITS_GO = """
DROP TRIGGER durable_hold ON durable_step_output;
DROP FUNCTION durable_hold;
DROP SEQUENCE durable_held;
"""
WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = %s"


class SlowCommit:
    """Stands by while one commit takes long: cuts its client off, lets it go once that tries again."""

    def __init__(self) -> None:
        self.victim = connection.connection.fileno()
        self.watcher = connection.copy()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        with self.watcher.cursor() as cursor:
            cursor.execute(HOLD_THE_COMMIT)
            cursor.execute("SELECT pg_advisory_lock(42)")
        self.watcher.inc_thread_sharing()
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.thread.join(20)
        with self.watcher.cursor() as cursor:
            cursor.execute(LET_COMMITS_GO)
        self.watcher.close()

    def _watch(self) -> None:
        self._until_one_waits_for("advisory")
        with socket.socket(fileno=os.dup(self.victim)) as line:
            line.shutdown(socket.SHUT_RDWR)
        self._until_one_waits_for("transactionid")
        with self.watcher.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(42)")

    def _until_one_waits_for(self, what: str) -> None:
        give_up = time.monotonic() + 10
        with self.watcher.cursor() as cursor:
            while time.monotonic() < give_up:
                cursor.execute(WAITS, [what])
                if cursor.fetchone() != (0,):
                    return
        raise AssertionError(f"nobody waited for {what}")


def test_a_commit_that_is_still_under_way_when_its_client_tries_again_is_not_doubled(drain):
    @workflow(name="test.tell")
    def tell(other: str) -> str:
        send(other, "once")
        return "told"

    receiver = tell.enqueue("nobody")
    run = tell.enqueue(receiver.id)
    claimed = {each.id: each for each in drain.claim()}
    with SlowCommit():
        drain.run(claimed[run.id])
    assert run.result() == "told"
    assert Message.objects.filter(workflow_id=receiver.id).count() == 1


def test_a_verb_that_was_done_before_its_answer_got_lost_is_no_refusal(drain):
    @workflow(name="test.stop")
    def stop(other: str) -> list[str]:
        return control.cancel([other])

    other = stop.using(delay=3600).enqueue("nobody")
    run = stop.enqueue(other.id)
    claimed = drain.claim()
    with SlowCommit():
        drain.run(claimed[0])
    assert run.result() == [other.id]
