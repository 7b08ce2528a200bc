"""One execution of one run: read its history and call its body, again while nothing stands against that."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from django_durable.core.declaration import WorkflowDeclaration
from django_durable.core.outcomes import Completed, Failed, Outcome, Overtaken, Waiting
from django_durable.core.payloads.late import looked_up_at_once
from django_durable.core.run import Run
from django_durable.core.waits import Wait
from django_durable.engine import payloads
from django_durable.engine.execution.bodies import call_body, due_of
from django_durable.engine.execution.context import WorkflowContext
from django_durable.engine.execution.history import read_history
from django_durable.engine.execution.outages import (
    await_database,
    is_outage,
    note_connection,
    through_outages,
)
from django_durable.engine.execution.outcomes import outcome_of
from django_durable.engine.execution.recorded import Recorded
from django_durable.engine.execution.steps import call_step
from django_durable.engine.execution.transactions import depth
from django_durable.engine.execution.writes import Recorder
from django_durable.engine.waits.starvation import warn_of_starvation
from django_durable.engine.waits.suspension import Left, suspend
from django_durable.exceptions import Suspended, UnknownSerialization


def execute(run: Run, declaration: WorkflowDeclaration, recorder: Recorder, using: str) -> Outcome:
    """The outcome, of which nothing is written but a wait for others.

    Raises UnknownSerialization, or Refused by a receiver that keeps the run from being suspended or retried.
    """
    note_connection(using)
    due = due_of(run)
    history = _history(run, using) if run.has_history else {}
    while True:
        context = WorkflowContext(
            run,
            history,
            recorder,
            using,
            call_step,
            atomic_depth=depth(using),
            is_async=declaration.is_async,
            due=due,
        )
        outcome = _execute_once(context, declaration)
        if outcome is not None:
            return outcome
        history = _history(run, using)


def _history(run: Run, using: str) -> dict[int, Recorded]:
    return through_outages(lambda: read_history(run.id, using), using)


def _execute_once(context: WorkflowContext, declaration: WorkflowDeclaration) -> Outcome | None:
    """None: the body runs again at once, since the database was away or what it waits for is there."""
    try:
        args, kwargs = _arguments(context.run, declaration)
    except UnknownSerialization:
        raise
    except BaseException as unreadable:
        if not is_outage(unreadable, context.using):
            return Failed(payloads.encode_error(unreadable))
    else:
        return _call(context, declaration, args, kwargs)
    await_database(context.using)  # a row that they refer to was looked up
    return None


def _arguments(run: Run, declaration: WorkflowDeclaration) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Anew each time, as a body may change what it is given."""
    with looked_up_at_once() if declaration.is_async else nullcontext():
        args, kwargs = payloads.decode_call(run.input, run.serialization)
    declaration.check_call(args, kwargs)
    return args, kwargs


def _call(
    context: WorkflowContext,
    declaration: WorkflowDeclaration,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Outcome | None:
    run = context.run
    try:
        value = call_body(context, declaration, args, kwargs)
        return Completed(payloads.encode(value, f"the result of workflow {run.name!r}", run.serialization))
    except Suspended as suspended:
        return _leave(run, suspended.wait, context.using)
    except BaseException as error:
        if not is_outage(error, context.using):
            return outcome_of(error, context, declaration)
    await_database(context.using)
    return None


def _leave(run: Run, wait: Wait, using: str) -> Outcome | None:
    if wait.is_sleep:
        return Waiting(wait)
    match through_outages(lambda: suspend(run.fence, wait, using), using):
        case Left.HAS_COME:
            return None
        case Left.SUPERSEDED:
            return Overtaken()
    through_outages(lambda: warn_of_starvation(run.queue, wait.runs, using), using)
    return Waiting(wait, is_written=True)
