"""Durable calls that an async body gives up: recorded, so that a replay gives up the same ones.

A cancel ends the wait for a call: of `asyncio.timeout`, of a group whose other task failed, of the body
itself. A replay must not find what the call would have given, or it would go another way. There the call
waits for the same cancel, as whatever sent it sends it again; if none comes, the call is made.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import NamedTuple

from django_durable.engine.execution.body_thread import surely
from django_durable.engine.execution.context import GIVEN_UP, WorkflowContext
from django_durable.exceptions import Superseded, UnexpectedStep

MARGIN = 5.0  # seconds that a replay waits longer than the first time


class Call(NamedTuple):
    """A durable call of an async body, under the first number that it took."""

    title: str
    number: int
    place: int  # in the order in which the calls of the history ended


async def give_up(context: WorkflowContext, call: Call, cancel: BaseException) -> None:
    """Record that the body waits no longer, unless the call is recorded, or the run ends here anyway.

    If the cancel ends the body, the call is what failed.
    """
    context.note_failure(cancel, (call.number,))
    refuse_to_record(context, call)
    if not context.is_ending and call.number not in context.history:
        await surely(lambda: _record(context, call))


def refuse_to_record(context: WorkflowContext, call: Call) -> None:
    """What a step that still goes on will give is not recorded any more."""
    context.given_up.setdefault(call.number, context.calls)


def _record(context: WorkflowContext, call: Call) -> None:
    # needs the models, which may not be loaded when this module is
    from django_durable.engine import payloads

    seconds = time.monotonic() - context.began
    output = json.dumps({"call": call.title, "seconds": round(seconds, 3)})
    error = payloads.encode_error(asyncio.CancelledError(f"the body gave up {call.title} before it ended"))
    _write("give_up", context, call.number, output=output, error=error, seconds=seconds)


async def give_up_again(context: WorkflowContext, call: Call) -> None:
    """Wait to be cancelled as the first time; returns if that does not come."""
    kept = json.loads(context.history[call.number].output or "{}")
    if kept["call"] != call.title:
        context.broken_by = UnexpectedStep(context.run.id, call.number, kept["call"], call.title)
        raise context.broken_by
    await asyncio.sleep(max(kept["seconds"] - (time.monotonic() - context.began), 0) + MARGIN)
    await surely(lambda: _forget(context, call.number))


def _forget(context: WorkflowContext, number: int) -> None:
    context.refuse_live(number, GIVEN_UP)
    _write("forget_given_up", context, number)
    context.history.pop(number, None)


def _write(statement: str, context: WorkflowContext, number: int, **values: object) -> None:
    from django_durable.engine.execution.outages import through_outages
    from django_durable.models import database

    params = {"id": context.run.id, "token": context.run.token, "step": number, "name": GIVEN_UP, **values}
    if not through_outages(lambda: database.fetch(statement, params, context.using), context.using):
        raise Superseded(context.fence)
