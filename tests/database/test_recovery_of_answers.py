"""A commit whose answer is lost with its connection was a commit: nothing of it happens twice."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection, transaction

from django_durable import step, workflow, workflow_id
from django_durable.core.states import Status
from django_durable.engine.execution.outages import is_outage
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
