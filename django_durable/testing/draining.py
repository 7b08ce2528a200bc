"""Run what is ready, here and now: no worker, no other thread, the test's own connection and transaction."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from datetime import timedelta
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async
from django.db import connections, transaction

from django_durable.claim.claimer import Claimer
from django_durable.core.payloads.excerpt import quoted
from django_durable.core.run import Run
from django_durable.engine.execution.recorder import DirectRecorder
from django_durable.engine.execution.runner import Runner
from django_durable.engine.queues import make_missing
from django_durable.exceptions import InsideTransaction, InvalidOption
from django_durable.maintenance.deadlines import Deadlines
from django_durable.maintenance.promoter import Promoter
from django_durable.maintenance.recovery import give_back
from django_durable.maintenance.waker import Waker
from django_durable.models import Executor, Queue, database
from django_durable.models.database import Clock

SLOTS = 10
MOST = 10_000


class EndlessDrain(AssertionError):
    """Runs kept becoming ready; a workflow that enqueues itself never lets a drain end."""


def drain(*queues: str, most: int = MOST) -> int:
    """Run all that is ready, and what becomes ready meanwhile; returns how many executions that took.

    What waits for a time that has not come stays: see `shift`. Limits, versions and pauses hold as for
    a worker. Declared queues that are not there are made. Raises InvalidOption for one that nobody made,
    EndlessDrain after `most` executions, and InsideTransaction within atomic(), other than that of the
    TestCase.
    """
    using = database.alias()
    _refuse_open_transaction(using)
    make_missing(using)
    _refuse_unknown(queues, using)
    executions = 0
    with _executor(using) as executor:
        claimer, runner = Claimer(executor, using), Runner(DirectRecorder(using), using)
        while runs := _ready(claimer, queues, using):
            for run in runs:
                copy_context().run(runner.run, run)  # what a body activates is its own, as in a worker
            executions += len(runs)
            _take_back(executor, using)
            if executions > most:
                raise EndlessDrain(f"{executions} executions, and still runs are ready")
    return executions


adrain = sync_to_async(drain)


def _refuse_open_transaction(using: str) -> None:
    try:
        with transaction.atomic(using=using, durable=True):
            pass
    except RuntimeError as nested:
        raise InsideTransaction("drain()") from nested


def _refuse_unknown(queues: tuple[str, ...], using: str) -> None:
    there = list(Queue.objects.using(using).order_by("name").values_list("name", flat=True))
    for name in queues:
        if name not in there:
            known = ", ".join(map(quoted, there))
            raise InvalidOption(
                f"drain() takes names of queues, and none is {quoted(name)}; there are: {known}"
            )


def _ready(claimer: Claimer, queues: tuple[str, ...], using: str) -> list[Run]:
    Promoter(using).run_once()
    Waker(using).run_once()
    Deadlines(using).run_once()
    names = queues or tuple(Queue.objects.using(using).values_list("name", flat=True))
    runs = [run for name in names for run in claimer.claim(name, SLOTS).runs]
    if connections[using].in_atomic_block:
        database.fetch("let_rest", {}, using)
    return runs


def _take_back(executor: UUID, using: str) -> None:
    """Put in line what `crash_at` left behind, as another worker would."""
    with transaction.atomic(using=using):
        give_back(executor, MOST, using)


@contextmanager
def _executor(using: str) -> Iterator[UUID]:
    executor = Executor(
        id=uuid4(),
        hostname=socket.gethostname(),
        pid=os.getpid(),
        started_at=Clock(),
        heartbeat_at=Clock(),
        lease_expires_at=Clock() + timedelta(hours=1),
    )
    executor.save(using=using, force_insert=True)
    yield executor.id
    Executor.objects.using(using).filter(pk=executor.id).delete()
