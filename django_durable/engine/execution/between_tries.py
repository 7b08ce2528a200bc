"""The delay between two tries of a step: a short one is slept, for a long one the run leaves its worker."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from django_durable.conf import settings
from django_durable.core.waits import Wait
from django_durable.engine import payloads
from django_durable.engine.execution.attempts import Attempts
from django_durable.engine.execution.context import WorkflowContext
from django_durable.engine.execution.operations import Operation, Pause
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.ownership import still_owned
from django_durable.engine.waits.timers import now, seconds_left
from django_durable.exceptions import DeadlinePassed, Superseded
from django_durable.models import database

RETRIES = "durable.retries"


def rest(context: WorkflowContext, attempts: Attempts, seconds: float) -> Operation:
    """Wait before the next try. Raises Superseded, or DeadlinePassed, where there shall be none."""
    if seconds <= settings().suspend_after:
        yield Pause(seconds)
        _refuse_if_lost(context)
        return
    until = now(context) + seconds
    _remember(context, attempts, until)
    yield from _wait(context, until)


def _refuse_if_lost(context: WorkflowContext) -> None:
    """Tries of one step may go on for hours, and nothing is written between them that would tell."""
    if context.is_due:
        raise DeadlinePassed(context.run.id)
    if not through_outages(lambda: still_owned({context.fence}, context.using), context.using):
        raise Superseded(context.fence)


def remembered(context: WorkflowContext, attempts: Attempts) -> Operation:
    """Go on with the tries that were made before the run left its worker."""
    row = context.history.get(-(attempts.number or 0))
    if row is not None:
        kept = json.loads(row.output or "{}")
        attempts.errors = [payloads.decode_error(error) for error in kept["errors"]]
        yield from _wait(context, kept["until"])


def _wait(context: WorkflowContext, until: float) -> Operation:
    while (left := seconds_left(context, until)) > 0:
        short = left <= settings().suspend_after
        yield Pause(left) if short else Wait(until=datetime.fromtimestamp(until, UTC))


def _remember(context: WorkflowContext, attempts: Attempts, until: float) -> None:
    errors = [payloads.encode_error(error) for error in attempts.errors]
    params = {
        "id": context.run.id,
        "token": context.run.token,
        "step": attempts.number,
        "name": RETRIES,
        "attempts": len(errors),
        "output": json.dumps({"until": until, "errors": errors}),
    }
    if not through_outages(lambda: database.fetch("record_attempts", params, context.using), context.using):
        raise Superseded(context.fence)
