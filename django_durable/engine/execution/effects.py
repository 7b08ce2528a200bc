"""Durable calls that write: what they do and their checkpoint commit together, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from django.db import transaction

from django_durable.claim.isolation import read_committed
from django_durable.engine import payloads
from django_durable.engine.execution.conflicts import Conflicts
from django_durable.engine.execution.context import WorkflowContext, running_workflow
from django_durable.engine.execution.history import read_step, replayed
from django_durable.engine.execution.operations import Operation, Raised, at_once
from django_durable.engine.execution.outages import await_database, is_outage, through_outages
from django_durable.engine.execution.ownership import own
from django_durable.engine.execution.recorder import CommittedBefore, write_checkpoint
from django_durable.engine.execution.transactions import refuse_open_transaction
from django_durable.engine.execution.writes import Checkpoint
from django_durable.exceptions import ControlFlow, WorkflowNotFound


class Done(NamedTuple):
    """What an effect gives its caller, and the workflow that it started or found."""

    value: Any = None
    child: str | None = None


Effect = Callable[[int], Done]


def effect(context: WorkflowContext, name: str, do: Effect, *, own_row_first: bool = True) -> Operation:
    """A recorded call; `do` runs in the transaction that records its value. Takes one number."""
    return _recorded(
        context, name, lambda number: _commit(context, number, name, do, own_row_first=own_row_first)
    )


def observe(context: WorkflowContext, name: str, read: Callable[[], Any]) -> Operation:
    """A recorded look at something that may change. Takes one number."""
    return _recorded(context, name, lambda number: _look_and_keep(context, number, name, read))


def _recorded(context: WorkflowContext, name: str, act: Callable[[int], Any]) -> Operation:
    """What is recorded under the next number, else what acting gives now."""
    if not context.is_async:
        refuse_open_transaction(context, name)
    number = context.take_number()
    recorded = context.find(number, name)
    return at_once(lambda: act(number) if recorded is None else replayed(recorded))


def _commit(
    context: WorkflowContext, number: int, name: str, do: Effect, *, own_row_first: bool = True
) -> Any:
    """Do it and record it; an error is recorded too. A try behind one that committed unheard is undone."""
    conflicts = Conflicts()
    while True:
        try:
            with read_committed(context.using), transaction.atomic(using=context.using):
                if own_row_first:
                    own(context.fence, context.using)
                with running_workflow(None):  # receivers that it tells are no part of the body
                    done = do(number)
                _record(context, number, name, done)
            return done.value
        except CommittedBefore:
            return _found(context, number)
        except ControlFlow:
            raise
        except Exception as error:
            failure = error
        if is_outage(failure, context.using):
            await_database(context.using)
        elif (pause := conflicts.pause(failure)) is not None:
            time.sleep(pause)
        else:
            return keep_error(context, number, name, failure)


def _record(context: WorkflowContext, number: int, name: str, done: Done) -> None:
    run = context.run
    output = payloads.encode(done.value, f"the result of {name}", run.serialization)
    checkpoint = Checkpoint(
        run.id, run.token, number, name, output, None, run.serialization, child=done.child
    )
    if not write_checkpoint(checkpoint, context.using):
        raise CommittedBefore


def _look_and_keep(context: WorkflowContext, number: int, name: str, read: Callable[[], Any]) -> Any:
    try:
        value = through_outages(read, context.using)
    except WorkflowNotFound as missing:
        return keep_error(context, number, name, missing)
    return keep(context, number, name, value)


def keep(context: WorkflowContext, number: int, name: str, value: Any) -> Any:
    """Record a value that was only read."""
    run = context.run
    output = payloads.encode(value, f"the result of {name}", run.serialization)
    context.record(Checkpoint(run.id, run.token, number, name, output, None, run.serialization))
    return value


def keep_error(context: WorkflowContext, number: int, name: str, error: Exception) -> Any:
    """The error, recorded; or what an earlier try recorded that succeeded, so that this one could not."""
    run = context.run
    text = payloads.encode_error(error)
    checkpoint = Checkpoint(run.id, run.token, number, name, None, text, run.serialization)
    if through_outages(lambda: write_checkpoint(checkpoint, context.using), context.using):
        return Raised(error, (number,))
    return _found(context, number)


def _found(context: WorkflowContext, number: int) -> Any:
    return replayed(through_outages(lambda: read_step(context.run.id, number, context.using), context.using))
