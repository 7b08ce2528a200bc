"""Call the body of a run: on this thread, or on an event loop whose blocking parts come back to this thread.

The loop of an async body lives as long as one execution. Its database work runs on the slot's own thread and
connection, so a worker needs no more connections for async bodies than for others.
"""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from typing import Any

from asgiref.sync import async_to_sync

from django_durable.core.declaration import WorkflowDeclaration
from django_durable.core.run import Run
from django_durable.engine.execution.branching import counted_apart
from django_durable.engine.execution.context import WorkflowContext, running_workflow
from django_durable.engine.launching.surroundings import restored
from django_durable.exceptions import ControlFlow, DeadlinePassed


def due_of(run: Run) -> float | None:
    """The run's deadline on this process's monotonic clock; both instants of the row are the database's."""
    if run.deadline is None:
        return None
    return time.monotonic() + (run.deadline - run.started_at).total_seconds()


def call_body(
    context: WorkflowContext,
    declaration: WorkflowDeclaration,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """What the body returns; raises what it raises, or why the run was lost, whatever the body made of it.

    What the body recorded last may still be in flight when it returns, but not when it raises.
    """
    try:
        with running_workflow(context), restored(context.run.headers):
            if declaration.is_async:
                value = async_to_sync(_call_async)(context, declaration, args, kwargs)
            else:
                value = _call_blocking(declaration, args, kwargs)
    except BaseException as error:
        context.land()
        meant = _alone(error) if context.broken_by is None else context.broken_by
        if meant is error:
            raise
        raise meant from None
    if context.broken_by is not None:
        raise context.broken_by
    return value


def _call_blocking(declaration: WorkflowDeclaration, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return declaration.function(*args, **kwargs)
    except BaseException as error:
        # the generators that the body holds end here: outside of the run their last calls would be plain ones
        traceback.clear_frames(error.__traceback__)
        raise


def _alone(error: BaseException) -> BaseException:
    """Out of the group that a TaskGroup put it in: what a body raises to say how the run shall end."""
    inner = error
    while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
        inner = inner.exceptions[0]
    return inner if isinstance(inner, ControlFlow) else error


async def _call_async(
    context: WorkflowContext,
    declaration: WorkflowDeclaration,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    left = None if context.due is None else max(context.due - time.monotonic(), 0)
    context.threads.add(threading.get_ident())
    limit = asyncio.timeout(left)
    try:
        async with limit:
            with counted_apart(context):
                return await _call_and_end_generators(declaration, args, kwargs)
    except TimeoutError:
        if limit.expired():
            raise DeadlinePassed(context.run.id) from None
        raise
    finally:
        context.is_over = True


async def _call_and_end_generators(
    declaration: WorkflowDeclaration, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    try:
        return await declaration.function(*args, **kwargs)
    except BaseException as error:
        before = asyncio.all_tasks()
        traceback.clear_frames(error.__traceback__)
        await asyncio.sleep(0)  # the loop makes tasks of their ends, in the order in which the body held them
        ends = {task for task in asyncio.all_tasks() - before if _ends_a_generator(task)}
        if ends:
            await asyncio.wait(ends)
        raise


def _ends_a_generator(task: asyncio.Task[Any]) -> bool:
    return type(task.get_coro()).__name__ == "async_generator_athrow"
