"""Many calls become one run: each call puts the waiting run off, and replaces its arguments by its own."""

from __future__ import annotations

import json
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django_durable.core.identifiers import MAX_BYTES, check_identifier
from django_durable.core.options import Options, duration
from django_durable.engine import payloads
from django_durable.engine.execution.context import current
from django_durable.engine.execution.effects import Done, effect
from django_durable.engine.execution.operations import Operation, Raised, at_once
from django_durable.engine.execution.ownership import guarded
from django_durable.engine.handle import Handle
from django_durable.engine.launching import launcher
from django_durable.engine.launching.launcher import Call
from django_durable.exceptions import Deduplicated, InvalidOption
from django_durable.models import DEFAULT_QUEUE, database

TRIES = 5
DEBOUNCE = "durable.debounce"


class Debounce:
    """`key` says which calls are one, `period` how long it must be quiet, `max_wait` how long at most."""

    def __init__(self, key: str, period: timedelta | float, max_wait: timedelta | float | None) -> None:
        self.key = check_identifier("debounce key", key)
        self.period = duration("period", period)
        self.max_wait = duration("max_wait", max_wait)
        if not self.period:
            raise InvalidOption("period must be longer than nothing")

    def deduplication_id(self, name: str) -> str:
        """What the key's run of this function holds in its queue; a digest stands for one too long."""
        own = json.dumps([name, self.key], ensure_ascii=False)
        return own if len(own.encode()) <= MAX_BYTES else sha256(own.encode()).hexdigest()


def enqueue(debounce: Debounce, name: str, options: Options, call: Call) -> Operation:
    """The one run of the key that has not started; inside a body this is a recorded step."""
    if options.deduplication_id is not None or options.delay is not None or options.run_at is not None:
        raise InvalidOption("a debounced run has its own delay and deduplication_id; leave them out")
    context = current()
    if context is None:
        return at_once(lambda: guarded(lambda: _bounce(debounce, name, options, call), own_row_first=False))

    def do(number: int) -> Done:
        run = _bounce(debounce, name, options, call)
        return Done(run.id, child=run.id)

    return _as_handle(effect(context, DEBOUNCE, do, own_row_first=False))


def _bounce(debounce: Debounce, name: str, options: Options, call: Call) -> Handle:
    using, held = database.alias(), debounce.deduplication_id(name)
    params: dict[str, Any] = {
        "queue": options.queue or DEFAULT_QUEUE,
        "name": name,
        "deduplication_ids": [held, debounce.key],  # the key alone: runs in line from before it had a name
        "period": debounce.period,
        "input": launcher.encoded(name, call),
        "serialization": payloads.own().tag,
    }
    own = options.changed(deduplication_id=held, delay=debounce.period, on_duplicate="reject")
    for attempt in range(1, TRIES + 1):
        moved = database.fetch("bounce", params, using)
        if moved:
            return Handle(moved[0][0], using)
        try:
            run = launcher.enqueue(name, own, call)
        except Deduplicated:
            if attempt == TRIES:  # no debounced run: an ordinary one of the queue holds that id
                raise
            continue
        database.change("begin_bouncing", {"id": run.id, "max_wait": debounce.max_wait}, using)
        return run
    raise AssertionError("unreachable")


def _as_handle(operation: Operation) -> Operation:
    started = yield from operation
    return started if isinstance(started, Raised) else Handle(started)
