"""Whoever executes without a worker writes at once: what befalls the database is no error of the body."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from django_durable import step, workflow
from django_durable.core.run import Run
from django_durable.core.states import Status
from django_durable.engine.declared import workflows
from django_durable.engine.execution.recorder import DirectRecorder
from django_durable.engine.execution.runner import Runner
from django_durable.models import StepOutput, WorkflowStatus
from tests.faults import fault
from tests.races.executions import claim, status

pytestmark = pytest.mark.django_db(transaction=True)

Execute = Callable[[Callable[[], Any]], None]
ran: list[str] = []


@pytest.fixture
def execute() -> Iterator[Execute]:
    """Run a body on a thread of its own."""
    ran.clear()
    before = {id(declaration) for declaration in workflows}

    def execute(body: Callable[[], Any]) -> None:
        workflow(name="test.plain")(body).using(id="w").enqueue()
        (run,) = claim()
        with ThreadPoolExecutor(1) as thread:
            thread.submit(_run, run).result()

    yield execute
    for declaration in [each for each in workflows if id(each) not in before]:
        workflows.remove(declaration)


def _run(run: Run) -> None:
    try:
        Runner(DirectRecorder("default"), "default").run(run)
    finally:
        connections.close_all()


@step
def done() -> str:
    ran.append("done")
    return "done"


@step
def done_and_cut_off() -> str:
    ran.append("done")
    cut_off()
    return "done"


@step
def undone() -> None:
    ran.append("undone")


def cut_off() -> None:
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def result() -> str | None:
    return WorkflowStatus.objects.get().output


def steps() -> list[int]:
    return list(StepOutput.objects.order_by("step").values_list("step", flat=True))


def compensated(act: Callable[[], Any]) -> Callable[[], Any]:
    def body() -> Any:
        try:
            return act()
        except Exception:
            return undone()

    return body


def test_an_outage_between_a_step_and_its_record_is_no_error_of_the_step(execute):
    execute(compensated(done_and_cut_off))
    assert (ran, result(), steps()) == (["done"], '"done"', [1])


def test_nor_is_a_conflict(execute):
    with fault("40001", times=1, verb="INSERT", table="durable_step_output"):
        execute(compensated(done))
    assert (ran, result(), steps()) == (["done"], '"done"', [1])


def test_a_body_that_swallows_what_keeps_a_record_from_being_written_goes_nowhere(execute):
    with fault("22000", times=1, verb="INSERT", table="durable_step_output"):
        execute(compensated(done))
    assert (ran, status(), steps()) == (["done"], Status.ERROR, [])


def test_an_outage_before_the_outcome_is_waited_for(execute):
    def body() -> None:
        done()
        cut_off()

    execute(body)
    assert (ran, status(), steps()) == (["done"], Status.SUCCESS, [1])


def test_an_outage_before_the_history_is_read_is_waited_for(execute):
    workflow(name="test.plain")(lambda: done()).using(id="w").enqueue()
    (run,) = claim()

    def late() -> None:
        connection.ensure_connection()
        cut_off()
        _run(run._replace(has_history=True))

    with ThreadPoolExecutor(1) as thread:
        thread.submit(late).result()
    assert status() == Status.SUCCESS
