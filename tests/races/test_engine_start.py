"""`start()`: durable, at once, in this process."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from django.db import OperationalError, connection, transaction

from django_durable import sleep, step, workflow, workflow_id
from django_durable.core.states import Status
from django_durable.engine.declared import workflows
from django_durable.engine.execution.runner import Runner
from django_durable.engine.launching import local
from django_durable.exceptions import InsideWorkflow, InvalidOption, NotSerializable
from django_durable.maintenance.recovery import forget
from django_durable.models import Executor, Limit, Queue, WorkflowStatus, database
from django_durable.models.executor import ExecutorQuerySet
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def default_queue(transactional_db):
    Queue.objects.get_or_create(name="default")
    yield
    for process in local._processes:
        process._threads.shutdown()
    local._processes.clear()


@pytest.fixture
def declare():
    declared = []

    def declare(function):
        declared.append(workflow(name=function.__name__)(function))
        return declared[-1]

    yield declare
    for each in declared:
        workflows.remove(each.declaration)


def test_a_started_run_runs_here_on_another_thread_and_ends(declare):
    @step
    def place():
        return os.getpid(), threading.current_thread().name

    @declare
    def where():
        return place()

    pid, thread = where.start().result(timeout=10)
    assert pid == os.getpid()
    assert thread.startswith("durable-start")


def test_nothing_starts_before_the_commit_or_after_a_rollback():
    with transaction.atomic():
        run = echo.start(1)
        assert run.status == Status.ENQUEUED
    assert run.result(timeout=10) == 1
    with transaction.atomic():
        echo.using(id="gone").start(1)
        transaction.set_rollback(True)
    assert not WorkflowStatus.objects.filter(pk="gone").exists()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE durable_queue SET paused_at = now()",
        "UPDATE durable_queue SET concurrency = 1",
        "DELETE FROM durable_queue",
        "INSERT INTO durable_limit (key, max_running) VALUES ('k', 1)",
    ],
)
def test_what_is_held_back_by_the_commit_is_left_in_line(change):
    peer = connection.copy()
    with transaction.atomic():
        run = echo.using(limit_key="k").start(1)
        with peer.cursor() as cursor:
            cursor.execute(change)
    peer.close()
    local._processes[-1]._threads.shutdown()
    assert run.status == Status.ENQUEUED


def test_the_process_is_registered_while_something_runs_and_not_longer(declare):
    held, go = threading.Event(), threading.Event()

    @step
    def hold():
        held.set()
        go.wait(10)

    @declare
    def holds():
        hold()

    run = holds.start()
    assert held.wait(10)
    executor = Executor.objects.get()
    assert (executor.pid, run.record.executor_id) == (os.getpid(), executor.id)
    go.set()
    run.result(timeout=10)
    for process in local._processes:
        process._threads.shutdown()
    assert not Executor.objects.exists()


class Frozen:
    """A run that is held in a step, in a process that was frozen past its lease: others took it for lost."""

    def __init__(self, declare):
        self.held, self.go = threading.Event(), threading.Event()

        @step
        def hold():
            self.held.set()
            self.go.wait(10)

        @declare
        def holds():
            hold()

        holds.start()
        assert self.held.wait(10)
        (self.process,) = local._processes
        self.lost = Executor.objects.get().id
        self.process._trusted_until = 0.0
        lost = {"executor": self.lost, "batch": 10, "max_claims": 101, "refused": []}
        database.fetch("recover", lost, "default")
        assert forget(self.lost, "default")

    def end(self):
        self.go.set()
        self.process._threads.shutdown()


@pytest.fixture
def frozen(declare):
    frozen = Frozen(declare)
    yield frozen
    frozen.end()


def test_a_process_that_was_taken_for_lost_starts_under_a_new_executor(declare, frozen, caplog):
    @step
    def owner():
        return WorkflowStatus.objects.get(pk=workflow_id()).executor_id

    @declare
    def asks():
        return owner()

    run = asks.start()
    claimed_by = run.result(timeout=10)
    successor = Executor.objects.get()
    assert (claimed_by, successor.pid) == (successor.id, os.getpid())
    (told,) = [record for record in caplog.records if record.name == "django_durable.start"]
    assert (told.executor, told.successor) == (str(frozen.lost), str(successor.id))
    frozen.end()
    assert not Executor.objects.exists()


def test_a_lease_that_cannot_be_renewed_is_followed_by_another(frozen):
    class OneBeat(threading.Event):
        def wait(self, timeout=None):
            return self.is_set() or self.set()

    frozen.process._keep(OneBeat(), "default")
    assert Executor.objects.get().id == frozen.process._executor != frozen.lost
    frozen.end()
    assert not Executor.objects.exists()


def test_a_process_whose_row_could_not_be_deleted_registers_anew(declare, monkeypatch, caplog):
    @declare
    def returns():
        return 1

    def refuse(rows):
        monkeypatch.undo()
        raise OperationalError("not now")

    monkeypatch.setattr(ExecutorQuerySet, "delete", refuse)
    returns.start().result(timeout=10)
    local._processes[0]._threads.shutdown()
    assert "not now" in caplog.text
    assert local._processes[0]._executor is None


def test_a_started_run_that_waits_long_leaves_the_process(declare):
    @declare
    def sleeps():
        sleep(3600)

    run = sleeps.start()
    for process in local._processes:
        process._threads.shutdown()
    assert (run.status, run.record.executor_id) == (Status.WAITING, None)


def test_a_body_gets_its_arguments_as_they_were_given_once_the_database_is_back(declare):
    cuts = []

    @declare
    def appends(items):
        items.append("mine")
        if not cuts:
            cuts.append(1)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return items

    assert appends.start(["given"]).result(timeout=10) == ["given", "mine"]
    assert cuts == [1]


def test_an_execution_that_breaks_is_told_and_its_run_left_to_a_worker(declare, caplog, monkeypatch):
    @declare
    def returns():
        return 1

    monkeypatch.setattr(Runner, "run", lambda *_: sys.exit("broken"))
    run = returns.start()
    for process in local._processes:
        process._threads.shutdown()
    (told,) = [record for record in caplog.records if record.name == "django_durable.start"]
    assert (told.levelname, told.workflow_id) == ("CRITICAL", run.id)
    assert (run.status, run.record.executor_id) == (Status.DELAYED, None)


@pytest.mark.parametrize("limits", [{"concurrency": 1}, {"worker_concurrency": 2}])
def test_a_start_does_not_pass_by_limits(limits):
    Queue.objects.create(name="tight", **limits)
    Limit.objects.create(key="limited", max_running=1)
    for options in ({"queue": "tight"}, {"queue": "not there"}, {"limit_key": "limited"}, {"delay": 1}):
        with pytest.raises(InvalidOption):
            echo.using(**options).start(1)
    assert not WorkflowStatus.objects.exists()


@pytest.mark.parametrize(("options", "given"), [({}, object()), ({"delay": 1}, 1)])
def test_what_cannot_be_started_is_refused_before_any_query(django_assert_num_queries, options, given):
    with django_assert_num_queries(0), pytest.raises((InvalidOption, NotSerializable)):
        echo.using(**options).start(given)


def test_a_body_starts_nothing_beside_its_history(declare):
    @declare
    def wrong():
        echo.start(1)

    with pytest.raises(InsideWorkflow):
        wrong.start().result(timeout=10)
