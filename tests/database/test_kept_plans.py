"""A statement that a connection sends again is planned once for a while, and nothing depends on it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from django_durable.models import Limit, Queue, database
from django_durable.models.plans import LIFETIME
from tests.mutants import in_sql


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Time that stands still, on a connection that nothing was sent on."""
    connection.close()
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def kept() -> dict[str, tuple[int, int]]:
    """What the session prepared, and how often each ran on a plan for any parameters, and on its own."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, generic_plans, custom_plans FROM pg_prepared_statements")
        return {name.removeprefix("durable_"): (general, own) for name, general, own in cursor.fetchall()}


def limits_of(queue: str) -> list[tuple[Any, ...]]:
    return database.fetch("read_queue", {"queue": queue}, "default")


@pytest.mark.django_db(transaction=True)
class TestPlansAreKept:
    def test_for_a_statement_that_is_sent_again_and_one_that_is_not_is_sent_whole(self, clock):
        Queue.objects.create(name="mail", concurrency=3)
        assert [limits_of(name)[0][0] for name in ("mail", "mail", "mail")] == [3, 3, 3]
        assert kept() == {"read_queue_0": (2, 0)}
        assert limits_of("none") == []

    def test_for_some_seconds_after_which_a_table_may_have_grown(self, clock):
        limits_of("mail"), limits_of("mail")
        clock[0] += LIFETIME
        limits_of("mail")
        assert kept() == {}
        limits_of("mail")
        assert kept() == {"read_queue_0": (1, 0)}

    def test_and_what_was_set_for_them_ends_with_the_round_trip(self, clock):
        with transaction.atomic(), connection.cursor() as cursor:
            limits_of("mail"), limits_of("mail")
            cursor.execute("SHOW plan_cache_mode")
            assert cursor.fetchone() == ("auto",)
            assert kept() == {"read_queue_0": (1, 0)}

    def test_over_a_rollback(self, clock):
        with transaction.atomic():
            limits_of("mail"), limits_of("mail")
            transaction.set_rollback(True)
        assert limits_of("mail") == []
        assert kept() == {"read_queue_0": (2, 0)}

    def test_each_answer_its_own_where_statements_travel_together(self, clock):
        Queue.objects.create(name="mail")
        Limit.objects.create(key="k", max_running=2)
        asked = [
            ("limited_keys", {"most": 5}),
            ("record_starts", {"buckets": ["b"]}),
            ("read_queue", {"queue": "mail"}),
        ]
        for _ in range(3):
            keys, nothing, queue = database.fetch_all(asked, "default")
            assert (keys, nothing, len(queue)) == ([("k",)], [], 1)

    def test_and_changed_rows_are_counted_the_same(self, clock):
        for buckets in (["a", "b"], ["c"], ["d", "e", "f"]):
            assert database.change("record_starts", {"buckets": buckets}, "default") == len(buckets)


@pytest.mark.django_db(transaction=True)
class TestWhereTheSessionLostThem:
    def test_one_statement_fails_and_the_next_begins_anew(self, clock):
        limits_of("mail"), limits_of("mail")
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")
        with pytest.raises(DatabaseError, match="durable_read_queue_0"):
            limits_of("mail")
        assert [limits_of("mail") for _ in range(3)] == [[], [], []]
        assert kept() == {"read_queue_1": (2, 0)}

    def test_a_migration_under_way_costs_one_failure_too(self, clock):
        limits_of("mail"), limits_of("mail")
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE durable_queue ALTER concurrency TYPE bigint")
        try:
            with pytest.raises(DatabaseError, match="cached plan"):
                limits_of("mail")
            assert [limits_of("mail") for _ in range(3)] == [[], [], []]
        finally:
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE durable_queue ALTER concurrency TYPE integer")

    def test_a_new_connection_begins_anew(self, clock):
        limits_of("mail"), limits_of("mail")
        connection.close()
        assert limits_of("mail") == []
        assert kept() == {}


@pytest.mark.django_db(transaction=True)
def test_nothing_is_prepared_where_another_process_answers_than_the_one_that_was_met(clock, monkeypatch):
    in_sql("server_process", "pg_backend_pid()", "pg_backend_pid() + 1")(monkeypatch)
    assert [limits_of("mail") for _ in range(3)] == [[], [], []]
    assert kept() == {}
