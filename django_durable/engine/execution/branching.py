"""Tasks that an async body starts count their own calls, so that a replay numbers them alike in any order.

Which task it is, is told when it is started; which of them comes to its next call first depends on chance.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import partial
from types import FrameType
from typing import Any

from django_durable.engine.execution.context import WorkflowContext, current
from django_durable.engine.execution.numbering import Place, place_here
from django_durable.engine.execution.quiet_ends import be_quiet_about_ends

MAKERS = ("as_completed", "_AsCompletedIterator")
DEEPEST = 10  # frames between the start of a task and as_completed


@contextmanager
def counted_apart(context: WorkflowContext) -> Iterator[None]:
    """Within the block each task that this body starts is a branch of it."""
    loop = asyncio.get_running_loop()
    be_quiet_about_ends(loop)
    before = loop.get_task_factory()
    token = place_here.set(Place(context.numbering, context.numbering.body))
    loop.set_task_factory(partial(_start, before))
    try:
        yield
    finally:
        loop.set_task_factory(before)
        place_here.reset(token)


def _start(
    factory: Any, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
) -> Any:
    place = place_here.get()
    if place is not None and current() is not None:
        given = options.get("context")
        options["context"] = _of_a_branch(place, copy_context() if given is None else given)
    return asyncio.Task(work, loop=loop, **options) if factory is None else factory(loop, work, **options)


def _of_a_branch(place: Place, context: Context) -> Context:
    """Nothing that a step starts counts: a recorded step starts nothing at a replay.

    A context that several tasks are given is that of the first; each other gets a copy.
    """
    branch = place.branch.started(in_order=not _is_started_as_completed())
    own = context if context.get(place_here) is place else context.copy()
    own.run(place_here.set, Place(place.numbering, branch))
    return own


def _is_started_as_completed() -> bool:
    """asyncio.as_completed makes a set of what it is given, so it starts coroutines in an order of chance."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(DEEPEST):
        if frame is None:
            break
        if frame.f_globals.get("__name__") == "asyncio.tasks" and frame.f_code.co_qualname.startswith(MAKERS):
            return True
        frame = frame.f_back
    return False
