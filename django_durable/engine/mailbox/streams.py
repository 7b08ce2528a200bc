"""Streams: append-only logs of a run, readable while they are written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async

from django_durable.core.identifiers import check_identifier
from django_durable.core.payloads.excerpt import quoted
from django_durable.core.payloads.late import looked_up_at_once
from django_durable.engine import payloads
from django_durable.engine.execution.context import WorkflowContext, current, required, surrounding
from django_durable.engine.execution.effects import Done, effect
from django_durable.engine.execution.operations import Operation, at_once
from django_durable.engine.execution.ownership import fenced
from django_durable.engine.waits.waiting import growing_pauses
from django_durable.exceptions import InsideWorkflow, InvalidOption, StreamClosed, WorkflowNotFound
from django_durable.models import database

WRITE = "durable.write_stream"
CLOSE = "durable.close_stream"
BATCH = 100


class Look(NamedTuple):
    """What one look at a stream found: new values, and whether it has ended."""

    values: list[Any]
    position: int
    ended: bool


def write_stream(key: str, value: Any) -> Operation:
    check_identifier("stream key", key)
    context = surrounding() or required("write_stream()")
    text = payloads.encode(value, f"a value of stream {key!r}", context.run.serialization)
    return _append(context, WRITE, key, text)


def close_stream(key: str) -> Operation:
    check_identifier("stream key", key)
    return _append(surrounding() or required("close_stream()"), CLOSE, key, None)


def _append(context: WorkflowContext, name: str, key: str, text: str | None) -> Operation:
    row = {
        "workflow": context.run.id,
        "key": key,
        "value": text,
        "serialization": context.run.serialization,
        "closes": name == CLOSE,
    }

    def do(number: int) -> Done:
        appended = database.fetch("append_to_stream", {**row, "step": number}, context.using)
        if not appended and name == WRITE:
            raise StreamClosed(context.run.id, key)
        return Done()

    if current() is None:
        return at_once(lambda: fenced(do).value)
    return effect(context, name, do)


def read_stream(workflow_id: str, key: str, position: int) -> Iterator[Any]:
    """The values from `position` on, as they come, until the stream is closed or its run has ended."""
    look, pauses = _first(workflow_id, key, position)
    while True:
        yield from look.values
        if look.ended:
            return
        pauses = growing_pauses() if look.values else pauses
        time.sleep(next(pauses))
        look = look_at(workflow_id, key, look.position)


async def aread_stream(workflow_id: str, key: str, position: int) -> AsyncIterator[Any]:
    look, pauses = await _first_for_loop(workflow_id, key, position)
    while True:
        for value in look.values:
            yield value
        if look.ended:
            return
        pauses = growing_pauses() if look.values else pauses
        await asyncio.sleep(next(pauses))
        look = await _look_for_loop(workflow_id, key, look.position)


def _first(workflow_id: str, key: str, position: int) -> tuple[Look, Iterator[float]]:
    if current() is not None:
        raise InsideWorkflow("read_stream()")
    check_identifier("stream key", key)
    if type(position) is not int or not 0 <= position < 2**63:
        raise InvalidOption(f"position must be a whole number from 0; it is {quoted(position)}")
    return look_at(workflow_id, key, position), growing_pauses()


def look_at(workflow_id: str, key: str, position: int) -> Look:
    """The next values; a writer that has ended can have written no more than this look sees."""
    params = {"workflow": workflow_id, "key": key, "position": position, "batch": BATCH}
    rows = database.fetch("read_stream", params, database.alias())
    if not rows:
        raise WorkflowNotFound(workflow_id)
    values: list[Any] = []
    for is_active, at, value, serialization, closes in rows:
        if at is None:
            return Look(values, position, ended=not is_active)
        if closes:
            return Look(values, position, ended=True)
        values.append(payloads.decode(value, serialization))
        position = at + 1
    return Look(values, position, ended=False)


_first_for_loop = sync_to_async(looked_up_at_once()(_first))
_look_for_loop = sync_to_async(looked_up_at_once()(look_at))
