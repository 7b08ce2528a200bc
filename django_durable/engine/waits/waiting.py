"""Waits of a body: short ones are waited out in place, for long ones the run leaves its worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from typing import Any

from django_durable.conf import settings
from django_durable.core.waits import Wait
from django_durable.engine.execution.context import WorkflowContext, required
from django_durable.engine.execution.operations import Operation, Pause
from django_durable.engine.execution.transactions import refuse_open_transaction
from django_durable.engine.waits.timers import note_end, seconds_left, seconds_of, timer

SLEEP = "durable.sleep"
NOTHING = object()


def sleep(delay: timedelta | float) -> Operation:
    context = required("sleep()")
    seconds = seconds_of("the delay of sleep()", delay)
    begin(context, "sleep()")
    return _sleep(context, context.take_number(), seconds)


def begin(context: WorkflowContext, call: str) -> None:
    """Refuse a durable call inside the body's own transaction."""
    if not context.is_async:
        refuse_open_transaction(context, call)


def _sleep(context: WorkflowContext, number: int, seconds: float) -> Operation:
    until = timer(context, number, SLEEP, seconds)
    while (left := seconds_left(context, until)) > 0:
        yield Pause(left) if left <= settings().suspend_after else Wait(until=instant(until))
    if context.numbering.body.tasks and not context.deliveries.has(number):
        note_end(context, number, until)


def look_until(
    context: WorkflowContext, look: Callable[[], Any], wait: Wait, until: float | None
) -> Operation:
    """What `look` finds, however long it takes; NOTHING once the instant has passed."""
    pauses = growing_pauses()
    while True:
        found = look()
        if found is not NOTHING:
            return found
        left = None if until is None else seconds_left(context, until)
        if left is not None and left <= 0:
            return NOTHING
        if left is not None and left <= settings().suspend_after:
            yield Pause(min(next(pauses), left))
        else:
            yield wait._replace(until=None if until is None else instant(until))


def growing_pauses() -> Iterator[float]:
    """Seconds between looks at something that may come any moment."""
    return chain((0.005, 0.01, 0.02, 0.05, 0.1, 0.2), repeat(0.5))


def instant(epoch: float) -> datetime:
    return datetime.fromtimestamp(epoch, UTC)
