"""Only the database being away is an outage; an error that looks like it is a failure like any other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import DatabaseError, InterfaceError, OperationalError, connection, connections, transaction

from django_durable.engine.execution import conflicts
from django_durable.engine.execution.conflicts import is_conflict
from django_durable.engine.execution.outages import is_outage, note_connection, through_outages


def caused_by_the_driver(kind, cause):
    error = kind("as the driver said")
    error.__cause__ = cause
    return error


AWAY = caused_by_the_driver(OperationalError, psycopg.OperationalError("server closed the connection"))


def judged_by_a_thread_without_a_connection(error):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(is_outage, error, "default").result()


@pytest.mark.parametrize("kind", [OperationalError, InterfaceError])
def test_an_error_of_the_users_own_is_none_even_before_this_thread_ever_connected(kind):
    assert not judged_by_a_thread_without_a_connection(kind("the payment service is away"))


@pytest.mark.parametrize(
    "error", [ValueError(), DatabaseError(), psycopg.OperationalError(), KeyboardInterrupt()]
)
def test_an_error_of_another_kind_is_none(error):
    assert not judged_by_a_thread_without_a_connection(error)


def test_an_error_of_the_driver_where_no_connection_can_be_had_is_one():
    assert judged_by_a_thread_without_a_connection(AWAY)


def test_an_error_of_the_driver_on_a_connection_that_still_answers_is_none(db):
    assert not is_outage(AWAY, "default")


def test_a_failed_transaction_is_none_for_its_connection_is_there(db):
    @transaction.atomic
    def break_the_transaction():
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        finally:
            judged.append(is_outage(AWAY, "default"))

    judged: list[bool] = []
    with pytest.raises(DatabaseError):
        break_the_transaction()
    assert judged == [False]


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_the_server_ended_is_one():
    def lose_the_connection():
        try:
            with connections["default"].cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        except OperationalError as error:
            return is_outage(error, "default")
        finally:
            connections["default"].close()

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lose_the_connection).result()


def in_a_thread_of_its_own(judge):
    def judged():
        note_connection("default")
        try:
            return judge()
        finally:
            connections["default"].close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(judged).result()


@pytest.mark.django_db(transaction=True)
def test_an_error_of_another_database_is_none_on_the_first_connection_of_a_thread():
    def judge():
        connections["default"].ensure_connection()
        return is_outage(AWAY, "default")

    assert not in_a_thread_of_its_own(judge)


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_replaced_is_one_and_once():
    def judge():
        for _ in range(2):
            connections["default"].close()
            connections["default"].ensure_connection()
        return [is_outage(AWAY, "default"), is_outage(AWAY, "default")]

    assert in_a_thread_of_its_own(judge) == [True, False]


def refused_by(**where):
    own = connections["default"].get_connection_params()
    reached = {"host": own["host"], "port": own["port"], "dbname": own["dbname"]}
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(**{**reached, "user": own["user"], "connect_timeout": 2, **where})
    return caused_by_the_driver(OperationalError, refused.value)


def test_a_connection_that_another_server_refused_is_none_although_this_thread_has_none_of_ours():
    assert not judged_by_a_thread_without_a_connection(refused_by(host="127.0.0.1", port=1))
    assert not judged_by_a_thread_without_a_connection(refused_by(dbname="no_such_database"))


@pytest.mark.parametrize(
    ("cause", "is_one"),
    [
        (psycopg.errors.SerializationFailure(), True),
        (psycopg.errors.DeadlockDetected(), True),
        (psycopg.errors.LockNotAvailable(), False),
        (None, False),
    ],
)
def test_a_conflict_is_what_postgres_wants_tried_again(cause, is_one):
    assert is_conflict(caused_by_the_driver(OperationalError, cause)) is is_one


class Deadlocked:
    """A transaction that PostgreSQL wants tried again so many times."""

    def __init__(self, times: float) -> None:
        self.times = times
        self.tries = 0

    def __call__(self) -> str:
        self.tries += 1
        if self.tries <= self.times:
            raise caused_by_the_driver(OperationalError, psycopg.errors.DeadlockDetected())
        return "done"


@pytest.fixture
def _without_pauses(monkeypatch):
    monkeypatch.setattr(conflicts, "LONGEST", 0.0)


@pytest.mark.usefixtures("_without_pauses")
def test_a_transaction_that_conflicts_is_tried_until_it_does_not(db, caplog):
    assert through_outages(Deadlocked(3), "default") == "done"
    assert caplog.text == ""


@pytest.mark.usefixtures("_without_pauses")
def test_one_that_conflicts_for_ever_is_told_of_and_given_up(db, caplog):
    endless = Deadlocked(float("inf"))
    with pytest.raises(OperationalError):
        through_outages(endless, "default")
    assert endless.tries == conflicts.MOST + 1
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
    assert "as the driver said" in caplog.text
