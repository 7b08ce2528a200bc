"""Names travel as parameters only: whatever they look like, they are stored, matched and run as they are."""

from __future__ import annotations

import pytest
from django.db import connection

from django_durable import step, workflow
from django_durable.core.states import Status
from django_durable.models import StepOutput, WorkflowStatus
from tests.drain import row
from tests.factories import LimitFactory, QueueFactory
from tests.testapp.workflows import echo

NAMES = [
    "x'; DROP TABLE django_migrations;--",
    '"a""b"',
    "a%sb",
    "%(x)s",
    "a\\'b",
    "Foo Bar",
    "$1",
    "{0}",
    "{{ready}}",
    "\\",
    "select",
    "%",
    "<img src=x onerror=alert(1)>",
    "E'\\x00'",
    "naïve \U0001f600",
    "../../etc",
    "-",
    "--queue",
    "null",
    "1",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "limits", [{}, {"concurrency": 5, "partition_concurrency": 5}, {"fair": True}], ids=str
)
def test_a_name_of_any_look_is_only_a_name(drain, name, limits):
    @step(name=name)
    def mark():
        return name

    @workflow(name=name)
    def body(value):
        return [mark(), value]

    QueueFactory(name=name, **limits)
    LimitFactory(key=name, max_running=5)
    run = body.using(
        id=name, queue=name, partition_key=name, limit_key=name, deduplication_id=name, app_version=None
    ).enqueue(name)
    assert body.using(id=name).enqueue(name) == run
    drain(name)
    assert row(run).status == Status.SUCCESS
    assert run.result() == [name, name]
    assert (row(run).name, row(run).queue, row(run).partition_key) == (name, name, name)
    assert StepOutput.objects.get(workflow_id=name).name == name
    assert "django_migrations" in connection.introspection.table_names()


@pytest.mark.parametrize("name", NAMES)
def test_verbs_take_an_id_of_any_look(drain, name):
    run = echo.using(id=name).enqueue()
    run.cancel(reason=name)
    assert row(run).status == Status.CANCELLED
    run.resume(queue=name)
    assert (row(run).status, row(run).queue) == (Status.ENQUEUED, name)


def test_a_value_that_looks_like_a_placeholder_is_a_value(drain):
    given = {"%(id)s": "%s", "{{ready}}": "{0}", "$1": ":id"}
    run = echo.enqueue(given)
    drain()
    assert run.result() == given


def test_partitions_that_look_alike_are_three(drain):
    QueueFactory(name="q", partition_concurrency=1)
    for key in ("1", "01", "1 1"):
        echo.using(queue="q", partition_key=key).enqueue_many([((), {})] * 2)
    assert sorted(run.partition_key for run in drain.claim("q")) == ["01", "1", "1 1"]
    assert WorkflowStatus.objects.filter(status=Status.ENQUEUED).count() == 3
