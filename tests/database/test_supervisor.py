"""One worker from its first moment to its last, in this process: what it does, says, and leaves behind."""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_durable import workflow
from django_durable.core.states import Status
from django_durable.models import Executor, Queue, WorkflowStatus
from django_durable.worker.polling.poller import Look
from django_durable.worker.process.options import WorkerOptions
from django_durable.worker.process.os_signals import Requests
from django_durable.worker.process.supervisor import Supervisor
from tests.factories import ExecutorFactory, QueueFactory, WorkflowFactory
from tests.races.executions import running
from tests.testapp.workflows import echo, two_steps

pytestmark = pytest.mark.django_db(transaction=True)
LONGEST = 30


def burst(*arguments: str) -> None:
    call_command("run_queues", "--burst", "--slots=3", *arguments)


def test_a_burst_does_all_that_is_ready_and_leaves_nothing_behind():
    handles = two_steps.enqueue_many([((), {})] * 10)
    before = threading.active_count()
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    burst()
    assert {handle.status for handle in handles} == {Status.SUCCESS}
    assert threading.active_count() == before
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers
    assert not Executor.objects.exists()


def test_a_burst_of_nothing_ends():
    burst()
    assert not Executor.objects.exists()


def test_a_burst_does_what_its_runs_put_in_line():
    made = []

    @workflow(name="test.burst.grow")
    def grow(depth: int) -> None:
        if depth:
            made.append(grow.enqueue(depth - 1))

    first = grow.enqueue(5)
    burst()
    assert first.status == Status.SUCCESS
    assert WorkflowStatus.objects.filter(status=Status.SUCCESS).count() == 6


def test_a_burst_goes_on_after_a_run_that_began_and_ended_between_two_glances():
    supervisor = Supervisor(WorkerOptions(using="default", burst=True), Requests())
    poller, tally = supervisor.tree.poller, supervisor.tree.tally
    run = running()
    assert not supervisor._burst_is_over()
    tally.take(run)
    poller.last_look = Look(1, found=False)  # it looked while the run was about to put another in line
    tally.give_back(run, "succeeded")
    assert not supervisor._burst_is_over()
    assert not supervisor._burst_is_over()
    poller.last_look = Look(2, found=False)
    assert supervisor._burst_is_over()


def test_a_burst_waits_for_no_limit_that_others_fill():
    Queue.objects.update(concurrency=1)
    WorkflowFactory.create(status=Status.PENDING, executor=ExecutorFactory.create())
    waiting = echo.enqueue(1)
    burst()
    assert waiting.status == Status.ENQUEUED


def test_a_burst_does_everything_where_its_own_runs_fill_the_limit():
    Queue.objects.update(concurrency=1)
    echo.enqueue_many([((number,), {}) for number in range(5)])
    burst()
    assert set(WorkflowStatus.objects.values_list("status", flat=True)) == {Status.SUCCESS}


def test_what_is_overdue_and_what_was_lost_is_taken_up_before_anything_is_claimed():
    lost = ExecutorFactory.create(lost=True)
    orphan = echo.enqueue(1)
    from django_durable.claim.claimer import Claimer

    Claimer(lost.id, "default").claim("default", 1)
    delayed = echo.using(delay=0.001).enqueue(2)
    burst()
    assert (orphan.status, delayed.status) == (Status.SUCCESS, Status.SUCCESS)


def test_without_maintenance_it_leaves_that_to_others():
    delayed = echo.using(delay=0.001).enqueue(2)
    burst("--no-maintenance")
    assert delayed.status == Status.DELAYED


def test_it_serves_only_the_queues_it_is_told_to():
    for name in ("a", "b"):
        QueueFactory.create(name=name)
    handles = {name: echo.using(queue=name).enqueue(1) for name in ("a", "b", "default")}
    burst("--queue=a", "--queue=b", "--exclude=b")
    done = {name for name, handle in handles.items() if handle.status == Status.SUCCESS}
    assert done == {"a"}


def test_it_ends_when_it_took_as_many_as_it_may():
    echo.enqueue_many([((number,), {}) for number in range(10)])
    call_command("run_queues", "--slots=1", "--max-tasks=3")
    assert WorkflowStatus.objects.filter(status=Status.SUCCESS).count() == 3
    assert WorkflowStatus.objects.filter(status=Status.ENQUEUED, claims=0).count() == 7


def test_it_ends_when_it_holds_too_much_memory(caplog):
    with caplog.at_level(logging.INFO, "django_durable"):
        call_command("run_queues", "--max-memory=1")
    assert "recycled" in events(caplog)


def test_a_body_that_lasts_longer_than_the_drain_is_given_back():
    let_go, entered = threading.Event(), threading.Event()

    @workflow(name="test.supervisor.long")
    def long() -> None:
        entered.set()
        assert let_go.wait(LONGEST)

    run = long.enqueue()
    requests = Requests()
    options = WorkerOptions(using="default", slots=1, shutdown_timeout=0.1)
    supervisor = Supervisor(options, requests)
    verdicts: list[Any] = []
    thread = threading.Thread(target=lambda: verdicts.append(supervisor.run()))
    thread.start()
    try:
        assert entered.wait(LONGEST)
        requests.stop()
        thread.join(LONGEST)
        (verdict,) = verdicts
        assert (verdict.code, verdict.is_hung) == (0, True)
        assert (run.status, run.record.claims) == (Status.ENQUEUED, 0)
        assert not Executor.objects.exists()
    finally:
        let_go.set()
        assert supervisor.tree.pool.join(time.monotonic() + LONGEST)
    assert run.status == Status.ENQUEUED


def test_a_part_that_died_is_started_again(caplog):
    supervisor = Supervisor(WorkerOptions(using="default", slots=1), Requests())
    tree = supervisor.tree
    tree.start()
    try:
        service = tree.services["poller"]
        service.stop(LONGEST)
        service._stopping = False  # as if it had ended by itself
        supervisor._watch()
        assert service.is_alive
        assert "dead_part" in events(caplog)
    finally:
        tree.stop_claiming()
        assert tree.finish(time.monotonic() + LONGEST)


def test_it_says_what_it_starts_with_and_what_it_did(caplog):
    echo.enqueue(1)
    with caplog.at_level(logging.INFO, "django_durable"):
        burst("--queue=default")
    by_event = {record.event: record for record in caplog.records}
    start, end = by_event["start"], by_event["end"]
    assert (start.queues, start.slots, start.connections) == ("default", 3, 8)
    assert (end.claimed, end.succeeded, end.released) == (1, 1, 0)
    assert by_event["workflow"].outcome == "succeeded"
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


def test_a_pool_of_connections_that_is_too_small_is_told(caplog, monkeypatch):
    from django.db import connections

    monkeypatch.setitem(connections.settings["default"]["OPTIONS"], "pool", {"max_size": 4})
    Supervisor(WorkerOptions(using="default", slots=1), Requests())._check_pool(6)
    assert events(caplog) == ["small_pool"]


def test_a_poll_interval_that_is_not_below_the_lease_is_told(caplog):
    with caplog.at_level(logging.WARNING, "django_durable"):
        burst("--poll-interval=30")
        assert events(caplog) == ["seldom"]
        caplog.clear()
        burst("--poll-interval=29")
    assert events(caplog) == []


def test_its_lines_are_json_where_that_is_asked_for(capsys):
    echo.enqueue(1)
    logger = logging.getLogger("django_durable")
    before = logger.handlers, logger.propagate, logger.level
    try:
        burst("--format=json")
    finally:
        logger.handlers, logger.propagate = before[0], before[1]
        logger.setLevel(before[2])
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {"start", "registered", "workflow", "end"} <= {line["event"] for line in lines}
    assert all({"at", "level", "logger", "message"} <= line.keys() for line in lines)


@pytest.mark.parametrize(
    ("argument", "word"),
    [
        ("--slots=0", "at least 1"),
        ("--slots=x", "invalid"),
        ("--poll-interval=0", "at least 0.01"),
        ("--poll-interval=nan", "at least 0.01"),
        ("--poll-interval=inf", "and finite"),
        ("--shutdown-timeout=-1", "at least 0"),
        ("--max-tasks=0", "at least 1"),
        ("--database=nowhere", "nowhere"),
        ("--format=xml", "xml"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(argument, word):
    with pytest.raises(CommandError, match=word):
        call_command("run_queues", argument)


def test_a_worker_beats_into_its_file(tmp_path: Path):
    file = tmp_path / "beat"
    burst(f"--heartbeat-file={file}", "--worker-id=here")
    assert file.exists()


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.event for record in caplog.records if hasattr(record, "event")]
