"""`durable_replay`: does the code of here still fit the history of a run?"""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from django_durable import recv, send, set_event, sleep, step, workflow
from django_durable.engine.declared import workflows
from django_durable.models import Message, StepOutput, WorkflowStatus
from django_durable.testing import drain

pytestmark = pytest.mark.django_db
ran: list[str] = []


@step
def first():
    ran.append("first")
    return 1


@step
def second():
    ran.append("second")
    return 2


@pytest.fixture(autouse=True)
def _only_the_declarations_of_the_project():
    ran.clear()
    before = {id(declaration) for declaration in workflows}
    yield
    for declaration in [each for each in workflows if id(each) not in before]:
        workflows.remove(declaration)


def deploy(function):
    for declaration in list(workflows):
        if declaration.name == "replayed":
            workflows.remove(declaration)
    return workflow(name="replayed")(function)


def recorded(function):
    run = deploy(function).enqueue()
    drain()
    ran.clear()
    return run


def replay(run, **options):
    out = StringIO()
    call_command("durable_replay", run.id, stdout=out, **options)
    return out.getvalue()


def snapshot():
    return [list(table.objects.values()) for table in (WorkflowStatus, StepOutput, Message)]


def whole():
    set_event("stage", 1)
    sleep(0)
    return first() + second()


def test_a_run_that_fits_is_told_so_and_nothing_runs_or_is_written():
    run = recorded(whole)
    before = snapshot()
    assert "4 of 4 calls replayed" in replay(run)
    assert (ran, snapshot()) == ([], before)


def test_a_run_under_way_is_told_where_it_would_go_on():
    def waits():
        first()
        return recv("m")

    run = recorded(waits)
    send(run.id, 1, "m")
    before = snapshot()
    assert "it would go on with call 2, durable.recv" in replay(run)
    assert snapshot() == before
    assert json.loads(replay(run, format="json"))["stopped_at"] == "call 2, durable.recv"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (lambda: (set_event("stage", 1), sleep(0), second()), "second"),
        (lambda: set_event("stage", 1), "the history goes on with 'durable.sleep'"),
        (lambda: (set_event("stage", 1), sleep(0), first(), second()), "another value"),
        (lambda: (set_event("stage", 1), sleep(0), 1 / (first() + second() - 3)), "it raised"),
    ],
)
def test_the_first_divergence_is_told(changed, told):
    run = recorded(whole)
    deploy(changed)
    with pytest.raises(CommandError, match=told):
        replay(run)
    assert ran == []


def test_what_does_not_exist_is_told():
    for workflow_id in ("nobody", "no\0body", "\udcff", ""):
        with pytest.raises(CommandError, match="no workflow") as refused:
            call_command("durable_replay", workflow_id)
        assert str(refused.value).isascii()


def test_a_database_without_the_tables_is_told_in_one_line():
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE durable_workflow_status RENAME TO elsewhere")
    with pytest.raises(CommandError, match=r"^the database did not do it: relation .* does not exist$"):
        call_command("durable_replay", "nobody")
