"""A statement that a connection sends again is planned once for a while, and nothing depends on it."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from django_durable import sql
from django_durable.models import Limit, Queue, database
from django_durable.models.plans import LIFETIME, SETTINGS, Prepared, plans
from tests.mutants import in_sql
from tests.planned import EXPECTED
from tests.plans import BIG

PLANNING = ("plan_cache_mode", "enable_seqscan", "jit")


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
        found = {name.removeprefix("durable_"): (general, own) for name, general, own in cursor.fetchall()}
    return {name: runs for name, runs in found.items() if not name.startswith(SETTINGS)}


def planning() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(f'current_setting({name!r})' for name in PLANNING)}")
        return list(cursor.fetchone())


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


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

    @pytest.mark.parametrize("scope", ["SESSION", "LOCAL"])
    def test_and_what_was_set_for_them_ends_with_the_round_trip(self, clock, scope):
        with transaction.atomic(), connection.cursor() as cursor:
            before = planning()
            limits_of("mail"), limits_of("mail")
            assert planning() == before
            for name, value in zip(PLANNING, ("force_custom_plan", "off", "off"), strict=True):
                cursor.execute(f"SET {scope} {name} = {value}")
            limits_of("mail")
            assert planning() == ["force_custom_plan", "off", "off"]
            assert kept() == {"read_queue_0": (2, 0)}
            transaction.set_rollback(True)
        limits_of("mail")
        assert planning() == before

    def test_in_a_transaction_that_only_reads(self, clock):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            limits_of("mail"), limits_of("mail")
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
    @pytest.mark.parametrize("lose", ["DEALLOCATE ALL", "DISCARD ALL"])
    @pytest.mark.parametrize("age", [0, LIFETIME])
    def test_what_was_sent_on_its_own_is_sent_again_whole(self, clock, lose, age):
        limits_of("mail"), limits_of("mail")
        run(lose)
        clock[0] += age
        assert [limits_of("mail") for _ in range(4)] == [[], [], [], []]
        assert kept() == {"read_queue_1": (2, 0)}

    @pytest.mark.parametrize("age", [0, LIFETIME])
    def test_a_transaction_fails_once_and_the_next_statement_begins_anew(self, clock, age):
        limits_of("mail"), limits_of("mail")
        run("DEALLOCATE ALL")
        clock[0] += age
        with pytest.raises(DatabaseError, match="durable_"), transaction.atomic():
            limits_of("mail")
        assert [limits_of("mail") for _ in range(3)] == [[], [], []]
        assert kept() == {"read_queue_1": (2, 0)}

    def test_a_migration_under_way_fails_a_transaction_and_leaves_no_plans_of_before(self, clock):
        limits_of("mail"), limits_of("mail")
        run("ALTER TABLE durable_queue ALTER concurrency TYPE bigint")
        try:
            with pytest.raises(DatabaseError, match="cached plan"), transaction.atomic():
                limits_of("mail")
            assert [limits_of("mail") for _ in range(3)] == [[], [], []]
            assert kept() == {"read_queue_1": (2, 0)}
        finally:
            run("ALTER TABLE durable_queue ALTER concurrency TYPE integer")
        assert limits_of("mail") == []

    def test_a_new_connection_begins_anew(self, clock):
        limits_of("mail"), limits_of("mail")
        connection.close()
        assert limits_of("mail") == []
        assert kept() == {}

    def test_a_transaction_in_error_neither_makes_nor_drops_any(self, clock):
        limits_of("mail"), limits_of("mail"), database.fetch("snapshot", {}, "default")
        clock[0] += LIFETIME
        with transaction.atomic():
            with pytest.raises(DatabaseError, match="no_such_table"):
                run("SELECT FROM no_such_table")
            for name in ("read_queue", "snapshot", "snapshot"):
                with pytest.raises(DatabaseError, match="aborted"):
                    database.fetch(name, {"queue": "mail"}, "default")
            transaction.set_rollback(True)
        assert [limits_of("mail") for _ in range(3)] == [[], [], []]
        assert kept() == {"read_queue_0": (2, 0)}

    def test_a_plan_that_is_there_already_costs_nothing_but_its_name(self, clock):
        limits_of("mail")
        run("PREPARE durable_read_queue_0 AS SELECT 1")
        assert [limits_of("mail") for _ in range(3)] == [[], [], []]
        assert kept()["read_queue_1"] == (1, 0)


@pytest.mark.django_db(transaction=True)
def test_nothing_is_prepared_where_another_process_answers_than_the_one_that_was_met(clock, monkeypatch):
    in_sql("server_process", "pg_backend_pid()", "pg_backend_pid() + 1")(monkeypatch)
    assert [limits_of("mail") for _ in range(3)] == [[], [], []]
    assert kept() == {}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("pool", "keeps"), [({"reset": lambda raw: None}, False), ({"min_size": 1}, True), (True, True)]
)
def test_nothing_is_prepared_where_a_pool_resets_its_sessions(clock, monkeypatch, pool, keeps):
    connection.ensure_connection()
    with monkeypatch.context() as pooled:
        pooled.setitem(connection.settings_dict, "OPTIONS", {"pool": pool})
        plans(connection)
    assert [limits_of("mail") for _ in range(3)] == [[], [], []]
    assert kept() == ({"read_queue_0": (2, 0)} if keeps else {})


@pytest.mark.django_db(transaction=True)
def test_a_plan_that_was_made_while_there_was_nothing_reads_no_table_from_end_to_end():
    run(f"TRUNCATE {', '.join(BIG)}")
    run(f"VACUUM ANALYZE {', '.join(BIG)}")
    read = {name: tables_read(name) for name in EXPECTED}
    assert {name: tables for name, tables in read.items() if tables} == {}


def tables_read(name: str) -> list[str]:
    kept = Prepared.of("explained", sql.load(name))
    numbers = dict.fromkeys(EXPECTED[name].params)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"{sql.load('plan_in_general')}; {kept.make}")
        cursor.execute(f"EXPLAIN {kept.use}", numbers)
        plan = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute(kept.drop)
    return re.findall(rf"Seq Scan on (?:{'|'.join(BIG)})", plan)


def test_no_name_of_a_plan_is_longer_than_the_server_tells_apart():
    assert [name for name in sql.statements() if len(f"durable_{name}_{10**9}") > 63] == []
