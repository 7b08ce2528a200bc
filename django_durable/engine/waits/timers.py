"""Instants that bodies wait for, by the database's clock, recorded before the wait: a restart keeps them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from django_durable.core.options import given_duration
from django_durable.engine.execution.context import WorkflowContext
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.writes import Checkpoint
from django_durable.exceptions import Superseded
from django_durable.models import database


def now(context: WorkflowContext) -> float:
    """The database's clock as seconds of the epoch."""
    rows = through_outages(lambda: database.fetch("clock", {}, context.using), context.using)
    instant: datetime = rows[0][0]
    return instant.timestamp()


def seconds_left(context: WorkflowContext, until: float) -> float:
    """Until the instant; asks no clock where the claim came after it."""
    if until <= context.run.started_at.timestamp():
        return 0.0
    return until - now(context)


def timer(context: WorkflowContext, number: int, name: str, seconds: float) -> float:
    """The instant that this timer was set to when it was first reached, which may be now."""
    recorded = context.find(number, name)
    if recorded is not None:
        return float(recorded.output or 0)
    until = now(context) + seconds
    run = context.run
    checkpoint = Checkpoint(run.id, run.token, number, name, json.dumps(until), None, "json")
    context.recorder.hand_over(checkpoint).wait()
    return until


def note_end(context: WorkflowContext, number: int, until: float) -> None:
    """Record that a sleep ended now, which a replay asks where other branches go on meanwhile."""
    if context.is_rehearsal:
        return
    params = {"id": context.run.id, "token": context.run.token, "step": number, "until": until}
    if not through_outages(lambda: database.fetch("end_sleep", params, context.using), context.using):
        raise Superseded(context.fence)


def seconds_of(name: str, delay: timedelta | float) -> float:
    """Raises InvalidOption for what is no length of time."""
    return given_duration(name, delay).total_seconds()
