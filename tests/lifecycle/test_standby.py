"""A database that answers and stores nothing, like a standby: waited for as if it were away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from django_durable.core.states import Status
from tests.lifecycle.workers import are_all, open_gate, terminate_backends, until
from tests.testapp.lifecycle_workflows import gated_books, six_steps
from tests.testapp.models import Ledger, Probe


@contextmanager
def nothing_can_be_written() -> Iterator[None]:
    """In sessions that are opened within the block, also once it is over; this one goes on as it is."""
    database = f"DATABASE {connection.ops.quote_name(connection.settings_dict['NAME'])}"
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER {database} SET default_transaction_read_only = on")
        try:
            yield
        finally:
            cursor.execute(f"ALTER {database} RESET default_transaction_read_only")


def test_runs_under_way_go_on_once_it_stores_again(start):
    worker = start()
    gated_books.enqueue("g")
    until(lambda: Probe.objects.filter(ev="enter").exists())
    with nothing_can_be_written():
        terminate_backends(worker)
        worker.says("takes no writes").says("lease was not renewed")
    open_gate("g")
    until(are_all(Status.SUCCESS))
    assert Ledger.objects.count() == 1
    assert worker.stop() == 0
    assert "Traceback" not in worker.lines


def test_a_worker_that_is_started_meanwhile_works_then(start):
    with nothing_can_be_written():
        worker = start().says("lost the database")
    six_steps.enqueue()
    until(are_all(Status.SUCCESS))
    assert worker.stop() == 0
