"""Triggers and programs in other languages enqueue and send by SQL functions, with the same refusals."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import InternalError, connection, transaction
from django.db.utils import DataError, Error, IntegrityError

from django_durable import recv, workflow
from django_durable.core.states import Status
from django_durable.engine.handle import Handle
from django_durable.models import Message, WorkflowStatus
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db


def call(function, **given):
    named = ", ".join(f"{name} => %s" for name in given)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}({named})", list(given.values()))
        return cursor.fetchone()[0]


def enqueue(**given):
    return Handle(call("durable_enqueue", **{"name": "testapp.echo", **given}))


def test_a_run_enqueued_by_sql_is_like_one_enqueued_here(drain):
    by_sql = enqueue(args='[1, "two"]', kwargs='{"three": 3.0}', priority=5, partition_key="p", limit_key="k")
    here = echo.using(priority=5, partition_key="p", limit_key="k").enqueue(1, "two", three=3.0)
    differ = {"id", "seq", "line", "group_line", "arrival", "created_at", "updated_at", "input"}
    rows = [WorkflowStatus.objects.filter(pk=run.id).values().get() for run in (by_sql, here)]
    assert [{name: row[name] for name in row.keys() - differ} for row in rows] == [
        {name: rows[1][name] for name in rows[1].keys() - differ}
    ] * 2
    drain()
    assert by_sql.result() == here.result() == [1, "two", {"three": 3.0}]


def test_a_delay_a_timeout_and_attributes_are_kept(drain):
    run = enqueue(
        delay=timedelta(hours=1), timeout=timedelta(minutes=5), attributes='{"a": 1}', max_attempts=3
    )
    row = run.record
    assert (row.status, row.timeout, row.attributes) == (Status.DELAYED, timedelta(minutes=5), {"a": 1})
    assert (row.max_attempts, row.line, row.seq) == (3, None, None)
    drain.hasten()
    drain()
    assert run.status == Status.SUCCESS


def test_the_same_id_is_the_same_run_and_another_function_is_refused():
    assert enqueue(id="one") == enqueue(id="one", args="[2]")
    assert WorkflowStatus.objects.count() == 1
    with pytest.raises(IntegrityError, match="already belongs"), transaction.atomic():
        call("durable_enqueue", name="other", id="one")


def test_a_deduplication_id_that_is_taken_is_refused(drain):
    enqueue(deduplication_id="d")
    with pytest.raises(IntegrityError, match="deduplication_id d"), transaction.atomic():
        enqueue(deduplication_id="d")
    drain()
    assert enqueue(deduplication_id="d").status == Status.ENQUEUED


@pytest.mark.parametrize(
    "given",
    [
        {"id": ""},
        {"id": "  "},
        {"id": "\u200b"},
        {"id": "\u00a0\ufeff"},
        {"id": "\u3164\u2800\u034f"},
        {"deduplication_id": "\ufe0f\U000e0100"},
        {"id": " x"},
        {"id": "a\nb"},
        {"id": "x" * 256},
        {"queue": ""},
        {"queue": None},
        {"name": ""},
        {"partition_key": ""},
        {"deduplication_id": "\t"},
        {"priority": 101},
        {"priority": None},
        {"args": "{}"},
        {"args": "null"},
        {"kwargs": "[]"},
        {"args": "nonsense"},
        {"max_attempts": 0},
        {"attributes": "[]"},
    ],
    ids=str,
)
def test_what_python_refuses_sql_refuses(given):
    with pytest.raises(Error), transaction.atomic():
        enqueue(**given)
    assert not WorkflowStatus.objects.exists()


def test_a_message_sent_by_sql_wakes_its_receiver(drain):
    @workflow(name="receives")
    def receives():
        return recv("post")

    run = receives.enqueue()
    drain()
    assert (
        call("durable_send", workflow_id=run.id, message='{"n": 1}', topic="post", idempotency_key="k")
        is True
    )
    assert call("durable_send", workflow_id=run.id, message="2", topic="post", idempotency_key="k") is False
    drain()
    assert run.result() == {"n": 1}
    assert json.loads(Message.objects.get().payload) == {"n": 1}


@pytest.mark.parametrize(
    "given", [{"workflow_id": "nobody", "message": "1"}, {"workflow_id": None, "message": "1"}]
)
def test_a_message_to_nobody_is_refused(given):
    with pytest.raises((DataError, InternalError, Error)), transaction.atomic():
        call("durable_send", **given)


def test_the_functions_find_their_tables_whatever_the_search_path():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        schema = cursor.fetchone()[0]
        cursor.execute("SET LOCAL search_path = pg_catalog")
        cursor.execute(f"SELECT {schema}.durable_enqueue('testapp.echo')")
        cursor.execute(f"SET LOCAL search_path = {schema}")
    assert WorkflowStatus.objects.count() == 1
