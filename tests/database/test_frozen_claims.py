"""A worker that is stopped in the middle of a claim holds its locks for a bounded time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction

from django_durable import sql
from django_durable.core.states import Status
from django_durable.models import Limit, Queue, database
from django_durable.models.database import Clock
from django_durable.testing import drain
from tests.factories import WorkflowFactory
from tests.planned import IDS, MINE, QUEUE, READY
from tests.testapp.workflows import echo

ASKED = {
    "claim_behind": {"rank": 0, "line": 0, "most": 10, "slots": 5, **MINE},
    "claim_head": {"slots": 5, **MINE},
    "claim_woken": {"slots": 5, **MINE},
    "lock_limits": {"keys": "k"},
    "lock_planned": {"ids": IDS[:1], "queue": QUEUE, **READY},
    "lock_queue": {"queue": QUEUE},
    "mark_claimed": {"ids": IDS[:1], **MINE},
    "wait_for_peers": {"queue": QUEUE, "patience": "1s"},
}


def rests() -> str:
    """How long this transaction may rest between two statements."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        return str(cursor.fetchone()[0])


@pytest.mark.parametrize("name", ASKED)
def test_whatever_a_claim_locks_first_bounds_its_rest(name, transactional_db):
    Queue.objects.get_or_create(name=QUEUE)
    if name == "lock_limits":
        Limit.objects.set("k", max_running=1)
    echo.using(id=IDS[0]).enqueue(1)
    WorkflowFactory(status=Status.WAITING, queue=QUEUE, wake_at=Clock() - timedelta(seconds=1))
    with transaction.atomic():
        assert database.fetch(name, ASKED[name], "default")
        assert rests() == "30s"
    assert rests() == "0"


@pytest.mark.parametrize("given", ["5s", "300ms"])
def test_a_bound_of_the_role_that_is_shorter_stands(given, transactional_db):
    Queue.objects.get_or_create(name=QUEUE)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{given}'")
        assert database.fetch("lock_queue", {"queue": QUEUE}, "default")
        assert rests() == given


def test_there_is_no_other_statement_of_a_claim_that_locks():
    folder = Path(sql.__path__[0], "claim")
    locks = ("FOR NO KEY UPDATE", "pg_advisory_xact_lock")
    locking = {path.stem for path in folder.glob("*.sql") if any(lock in path.read_text() for lock in locks)}
    assert locking == set(ASKED)


def test_the_transaction_of_a_test_may_rest_as_before(db):
    Queue.objects.set("default", concurrency=2)
    echo.enqueue(1)
    assert drain() == 1
    assert rests() == "0"
