"""Events: values that a run publishes under keys; the last one wins, and all are kept for fork and rewind."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django_durable.core.identifiers import check_identifier
from django_durable.core.waits import Wait
from django_durable.engine import payloads
from django_durable.engine.execution.context import WorkflowContext, current, required, surrounding
from django_durable.engine.execution.effects import Done, effect, keep, keep_error
from django_durable.engine.execution.history import replayed
from django_durable.engine.execution.operations import Operation, Pause, at_once
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.ownership import fenced
from django_durable.engine.waits.results import settled
from django_durable.engine.waits.timers import seconds_of, timer
from django_durable.engine.waits.waiting import NOTHING, begin, growing_pauses, look_until
from django_durable.engine.waits.waking import wake_for_event
from django_durable.exceptions import WorkflowNotFound
from django_durable.models import Event, database

SET_EVENT = "durable.set_event"
GET_EVENT = "durable.get_event"
GET_EVENT_TIMER = "durable.get_event.timer"


def set_event(key: str, value: Any) -> Operation:
    check_identifier("event key", key)
    context = current()
    if context is None:
        return at_once(lambda: _set_from_step(key, value))
    row = _row(context, key, value)
    return effect(context, SET_EVENT, lambda number: _set(row, number, context.using))


def get_event(workflow_id: str, key: str, timeout: timedelta | float | None) -> Operation:
    """The value as it is now, or once it is there; None after the timeout, which is 0 outside of bodies."""
    check_identifier("workflow id", workflow_id)
    check_identifier("event key", key)
    seconds = None if timeout is None else seconds_of("the timeout of get_event()", timeout)
    context = current()
    if context is None:
        return _read_outside(workflow_id, key, seconds)
    begin(context, "get_event()")
    numbers = context.take_number(), context.take_number()
    return _get(context, numbers, (workflow_id, key), seconds)


def _get(
    context: WorkflowContext, numbers: tuple[int, int], event: tuple[str, str], seconds: float | None
) -> Operation:
    number, timer_number = numbers
    recorded = context.find(number, GET_EVENT)
    if recorded is not None:
        return replayed(recorded)

    read = _read if seconds is not None else _read_or_give_up

    def look() -> Any:
        return through_outages(lambda: read(*event, context.using), context.using)

    try:
        found = look()
        if found is NOTHING:
            until = None if seconds is None else timer(context, timer_number, GET_EVENT_TIMER, seconds)
            found = yield from look_until(context, look, _wait(context, event, until), until)
    except WorkflowNotFound as missing:
        return keep_error(context, number, GET_EVENT, missing)
    return keep(context, number, GET_EVENT, None if found is NOTHING else found)


def _wait(context: WorkflowContext, event: tuple[str, str], until: float | None) -> Wait:
    """A publisher that ends publishes no more, so who would wait for ever waits for that too."""
    publisher = event[0]
    is_over_at_its_end = until is None and publisher != context.run.id
    return Wait(events=(event,), runs=(publisher,) if is_over_at_its_end else ())


def _read_outside(workflow_id: str, key: str, seconds: float | None) -> Operation:
    waited = 0.0
    for pause in growing_pauses():
        found = _read(workflow_id, key, database.alias())
        if found is not NOTHING:
            return found
        if seconds is None or waited >= seconds:
            break
        yield Pause(min(pause, seconds - waited))
        waited += pause
    return None


def _read(workflow_id: str, key: str, using: str) -> Any:
    events = Event.objects.using(using).filter(workflow_id=workflow_id, key=key)
    row = events.values_list("value", "serialization").first()
    return NOTHING if row is None else payloads.decode(*row)


def _read_or_give_up(workflow_id: str, key: str, using: str) -> Any:
    """None if it can never come: the run has ended without it. Raises WorkflowNotFound."""
    found = _read(workflow_id, key, using)
    if found is NOTHING and settled([workflow_id], using):
        last = _read(workflow_id, key, using)  # what it published before it ended, after the first look
        return None if last is NOTHING else last
    return found


def _set_from_step(key: str, value: Any) -> None:
    context = surrounding() or required("set_event()")
    row = _row(context, key, value)
    fenced(lambda number: _set(row, number, context.using))


def _row(context: WorkflowContext, key: str, value: Any) -> dict[str, Any]:
    run = context.run
    text = payloads.encode(value, f"the value of event {key!r}", run.serialization)
    return {"workflow": run.id, "key": key, "value": text, "serialization": run.serialization}


def _set(row: dict[str, Any], number: int, using: str) -> Done:
    database.change("set_event", {**row, "step": number}, using)
    wake_for_event(row["workflow"], row["key"], using)
    return Done()
