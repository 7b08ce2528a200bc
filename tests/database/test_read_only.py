"""What refuses a write: a server that takes none, which is waited for, or a transaction of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import Error, connection, connections, transaction

from django_durable.engine.execution.outages import await_database, is_outage
from django_durable.models import Queue

PARAMETER = "default_transaction_read_only"
LONGEST = 10.0


def judged(*said_before: str) -> bool:
    """Whether a write is refused by an outage, on a new connection that was told so much before."""

    def judge() -> bool:
        try:
            for statement in said_before:
                execute(statement)
            return _judge()
        finally:
            connections["default"].close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(judge).result()


def _judge() -> bool:
    try:
        with transaction.atomic():
            execute("UPDATE durable_queue SET name = name WHERE false")
    except Error as error:
        return is_outage(error, "default")
    raise AssertionError("the write was not refused")


def execute(statement: str) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def told(transactional_db: None):
    """Tell the database how sessions begin that are opened from now on; this one goes on as it is."""
    database = f"DATABASE {connection.ops.quote_name(connection.settings_dict['NAME'])}"
    yield lambda value: execute(f"ALTER {database} SET {PARAMETER} = {value}")
    execute(f"ALTER {database} RESET {PARAMETER}")


def test_a_server_that_takes_no_writes_is_an_outage(told: Callable[[str], None]):
    told("on")
    assert judged()


def test_a_session_that_made_itself_read_only_is_none(transactional_db):
    assert not judged(f"SET {PARAMETER} = on")


def test_a_transaction_of_the_users_own_is_none(transactional_db):
    def refused():
        with transaction.atomic():
            execute("SET TRANSACTION READ ONLY")
            Queue.objects.create(name="q")

    with pytest.raises(Error) as caught:
        refused()
    assert not is_outage(caught.value, "default")


def test_a_connection_from_when_nothing_could_be_written_is_replaced(told: Callable[[str], None]):
    def write() -> None:
        try:
            execute("SELECT 1")
            is_open.set()
            assert is_over.wait(LONGEST)
            await_database("default")
            Queue.objects.create(name="q")
        finally:
            connections["default"].close()

    is_open, is_over = Event(), Event()
    told("on")
    with ThreadPoolExecutor(1) as thread:
        written = thread.submit(write)
        assert is_open.wait(LONGEST)
        told("off")
        is_over.set()
        written.result()
    assert Queue.objects.filter(name="q").exists()
