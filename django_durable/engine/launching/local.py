"""Runs that start at once in the process that asks for them, durable like all others.

They are in line like any run, and this process claims them by id as soon as they are committed; a worker
that comes first is as welcome. While any runs, a thread keeps the lease of the process; if the process dies,
a worker takes them over. A run that leaves to wait goes on in a worker.
"""

from __future__ import annotations

import atexit
import contextvars
import logging
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

from django.db import Error, connections, transaction

from django_durable.claim.identity import Identity
from django_durable.conf import settings
from django_durable.core.options import Options
from django_durable.core.outcomes import Deferred
from django_durable.core.run import Run
from django_durable.engine.execution.context import current
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.recorder import DirectRecorder
from django_durable.engine.execution.runner import Runner
from django_durable.engine.execution.writes import Ending
from django_durable.engine.handle import Handle
from django_durable.engine.launching import launcher
from django_durable.engine.launching.launcher import Call
from django_durable.exceptions import InsideWorkflow, InvalidOption
from django_durable.models import DEFAULT_QUEUE, Executor, Limit, Queue, WorkflowStatus, database
from django_durable.models.announcing import announce_claims, hears_of_claims
from django_durable.models.database import Clock, Seconds
from django_durable.signals import executor_lost

THREADS = 32
TRUSTED = 0.9  # of the lease, counted from before it was asked for
SET_ASIDE = 5.0  # seconds for a run whose execution ended in a way that is not an outcome
LOST = (
    "executor %s of start() was taken for lost and its workflows were given to others; it goes on as %s. "
    "Was the process stopped, or starved, for longer than DURABLE['LEASE']?"
)

logger = logging.getLogger("django_durable.start")


def start(name: str, options: Options, call: Call) -> Handle:
    """Enqueue, and run here once the caller's transaction is committed; raises InvalidOption for limits."""
    if current() is not None:
        raise InsideWorkflow(f"{name}.start()")
    if options.delay is not None or options.run_at is not None:
        raise InvalidOption("start() begins at once, so it takes no delay or run_at; enqueue it")
    given, using = launcher.encoded(name, call), database.alias()
    _refuse_limits(options, using)
    run = launcher.enqueue_encoded(name, options, given)
    transaction.on_commit(lambda: _process().submit(run.id, using), using=using)
    return run


def _refuse_limits(options: Options, using: str) -> None:
    """Who passes by the line would pass by its limits too."""
    if _holds_back(options.queue or DEFAULT_QUEUE, using):
        raise InvalidOption(
            f"start() passes by the line of queue {options.queue or DEFAULT_QUEUE!r}, which is limited, "
            "paused or not there; enqueue it, or name a queue without limits"
        )
    if _is_limited(options.limit_key, using):
        raise InvalidOption(f"start() passes by the limit of key {options.limit_key!r}; enqueue it")


def _holds_back(name: str, using: str) -> bool:
    queue = Queue.objects.using(using).filter(pk=name).first()
    return queue is None or queue.paused_at is not None or queue.limits_anything


def _is_limited(key: str | None, using: str) -> bool:
    return key is not None and Limit.objects.using(using).filter(pk=key).exists()


class Process:
    """This process as an executor, as long as something runs that it started."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="durable-start")
        self._lock = threading.Lock()
        self._running = 0
        self._executor: UUID | None = None
        self._trusted_until = 0.0  # by the monotonic clock; then the row may be gone
        self._idle = threading.Event()

    def submit(self, workflow_id: str, using: str) -> None:
        self._threads.submit(self._run, workflow_id, using)

    def _run(self, workflow_id: str, using: str) -> None:
        try:
            executor = self._enter(using)
            try:
                for run in _claim(workflow_id, executor, using):
                    _execute(run, using)
            finally:
                self._leave(using)
        except BaseException as error:  # nobody asks the thread how it ended
            extra = {"event": "start_error", "workflow_id": workflow_id}
            logger.critical(
                "workflow %r is left to a worker: %r", workflow_id, error, exc_info=error, extra=extra
            )
        finally:
            connections[using].close()

    def _enter(self, using: str) -> UUID:
        with self._lock:
            if self._executor is None:
                self._executor = self._register(using)
                self._idle = threading.Event()
                keeper = threading.Thread(
                    target=self._keep, args=(self._idle, using), daemon=True, name="durable-lease"
                )
                keeper.start()
            elif time.monotonic() >= self._trusted_until and not self._renew(self._executor, using):
                self._become_another(using)
            self._running += 1
            return self._executor

    def _leave(self, using: str) -> None:
        with self._lock:
            self._running -= 1
            if not self._running and self._executor is not None:
                self._idle.set()
                executor, self._executor = self._executor, None
                Executor.objects.using(using).filter(pk=executor).delete()

    def _keep(self, idle: threading.Event, using: str) -> None:
        while not idle.wait(settings().heartbeat_interval):
            try:
                self._keep_lease(using)
            except Error as error:  # conflicts without end; it is tried with the next heartbeat
                logger.error(
                    "the lease of start() was not renewed: %s", error, extra={"event": "lease_error"}
                )
        connections[using].close()

    def _keep_lease(self, using: str) -> None:
        executor = self._executor
        if executor is None or through_outages(partial(self._renew, executor, using), using):
            return
        with self._lock:
            if self._executor == executor:
                through_outages(partial(self._become_another, using), using)

    def _become_another(self, using: str) -> None:
        lost, self._executor = self._executor, self._register(using)
        extra = {"event": "executor_lost", "executor": str(lost), "successor": str(self._executor)}
        logger.error(LOST, lost, self._executor, extra=extra)
        executor_lost.send_robust(Executor, executor=lost, successor=self._executor)

    def _register(self, using: str) -> UUID:
        began = time.monotonic()
        executor = _register(using)
        self._trust(began)
        return executor

    def _renew(self, executor: UUID, using: str) -> bool:
        began = time.monotonic()
        is_held = Executor.objects.using(using).renew(executor, timedelta(seconds=settings().lease))
        if is_held:
            self._trust(began)
        return is_held

    def _trust(self, since: float) -> None:
        self._trusted_until = since + settings().lease * TRUSTED


_processes: list[Process] = []
_processes_lock = threading.Lock()


def _process() -> Process:
    """The one of this process; a fork makes its own."""
    with _processes_lock:
        if not _processes or _processes[-1].pid != os.getpid():
            _processes[:] = [Process()]
            atexit.register(_processes[-1]._threads.shutdown)
        return _processes[-1]


def _claim(workflow_id: str, executor: UUID, using: str) -> list[Run]:
    """The run, unless a worker was quicker, or its queue or key is paused or limited by now."""
    return through_outages(lambda: _marked(workflow_id, executor, using), using)


def _marked(workflow_id: str, executor: UUID, using: str) -> list[Run]:
    run = WorkflowStatus.objects.using(using).filter(pk=workflow_id).only("queue", "limit_key").first()
    if run is None or run.queue is None or _holds_back(run.queue, using) or _is_limited(run.limit_key, using):
        return []
    mine = {"ids": [workflow_id], "queue": run.queue, **Identity.of(executor, using).new_claim()}
    with transaction.atomic(using=using) if hears_of_claims() else nullcontext():
        claimed: list[Run] = WorkflowStatus.objects.db_manager(using).mark_claimed(mine)
        announce_claims(claimed, using)
    return claimed


def _execute(run: Run, using: str) -> None:
    """In a context of its own, as a worker does it; what breaks it leaves the run to a worker."""
    recorder = DirectRecorder(using)
    try:
        contextvars.copy_context().run(Runner(recorder, using).run, run)
    except BaseException:
        recorder.end(Ending(run.fence, Deferred(SET_ASIDE, keeps_place=True)), lambda held: None)
        raise


def _register(using: str) -> UUID:
    executor = Executor(
        id=uuid4(),
        hostname=socket.gethostname(),
        pid=os.getpid(),
        app_version=settings().app_version,
        started_at=Clock(),
        heartbeat_at=Clock(),
        lease_expires_at=Clock() + Seconds(timedelta(seconds=settings().lease)),
    )
    executor.save(using=using, force_insert=True)
    return executor.id
