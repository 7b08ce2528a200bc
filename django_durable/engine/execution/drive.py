"""Run a durable call to its end: blocking, or as a coroutine of an async body. Each is written once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from asgiref.sync import async_to_sync, markcoroutinefunction, sync_to_async

from django_durable.core.waits import Wait
from django_durable.engine.execution.body_thread import on_thread
from django_durable.engine.execution.context import Branches, WorkflowContext, current
from django_durable.engine.execution.deliveries import LAST
from django_durable.engine.execution.giving_up import Call, give_up, give_up_again, refuse_to_record
from django_durable.engine.execution.operations import Light, Operation, Pause, Raised
from django_durable.exceptions import AsyncBodyNeeded, AwaitNeeded, DeadlinePassed, Superseded, Suspended

P = ParamSpec("P")
R = TypeVar("R")

LOST = (Superseded, Suspended, DeadlinePassed)
LINGER = 0.25  # seconds between looks of a branch that waits while other branches of its body still run
TURNS = 3  # of the event loop, in which a branch that just ended may begin its next call

_as_coroutine: ContextVar[bool] = ContextVar("durable_as_coroutine", default=False)


class _Finished(NamedTuple):
    value: Any

    def result(self, context: WorkflowContext | None) -> Any:
        if isinstance(self.value, Raised):
            error, steps = self.value
            if context is not None:
                context.note_failure(error, steps)
            raise error
        return self.value


def perform(
    call: str, begin: Callable[[], Operation | Light], *, is_async: bool = False, instead: str = ""
) -> Any:
    """The value of the call, or a coroutine of it if an async twin asked or the call is async by itself.

    `begin` takes the call's numbers, so calls are numbered in the order in which they are made. `instead` is
    what an async body has to await, where that is not the name of the call with the prefix `a`.
    """
    context = current()
    wants_coroutine = is_async or _as_coroutine.get()
    if context is not None and context.is_async:
        if not wants_coroutine:
            raise AwaitNeeded(call, instead or f"a{call}")
        with context.numbering.noting() as numbers:
            asked = begin()
        place = context.deliveries.place_of(numbers)
        return _adrive(context, asked, Call(call, numbers[0], place) if numbers else None)
    if wants_coroutine and (not is_async or (context is not None and _is_on_loop())):
        return _adrive_freely(begin, context)
    return drive(context, begin())


def _is_on_loop() -> bool:
    try:
        return asyncio.get_running_loop() is not None
    except RuntimeError:
        return False


def twin(function: Callable[P, R], name: str = "") -> Callable[P, Coroutine[Any, Any, R]]:
    """The same durable call for async code: numbered when it is called, run when it is awaited."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        token = _as_coroutine.set(True)
        try:
            return function(*args, **kwargs)
        finally:
            _as_coroutine.reset(token)

    call.__name__ = call.__qualname__ = name or f"a{function.__name__}"
    return markcoroutinefunction(call)


def drive(context: WorkflowContext | None, asked: Operation | Light) -> Any:
    operation = asked.operation if isinstance(asked, Light) else asked
    answer = None
    try:
        while not isinstance(turn := _advance(operation, answer), _Finished):
            answer = _wait(turn)
        return turn.result(context)
    except LOST as loss:
        _note(loss, context)
        raise


def _wait(turn: Any) -> Any:
    match turn:
        case Pause(seconds):
            time.sleep(seconds)
        case Wait():
            raise Suspended(turn)
        case _:
            return async_to_sync(_awaited)(turn)


async def _awaited(turn: Awaitable[Any]) -> Any:
    return await turn


def _advance(operation: Operation, answer: Any) -> Any:
    """The next thing to wait for; a StopIteration must not leave a thread as an exception."""
    try:
        return operation.send(answer)
    except StopIteration as end:
        return _Finished(end.value)


async def _adrive(context: WorkflowContext | None, asked: Operation | Light, call: Call | None = None) -> Any:
    if context is not None:
        context.branches.running += 1
    try:
        finished = await _adrive_or_give_up(context, asked, call)
    except LOST as loss:
        _note(loss, context)
        raise
    finally:
        if context is not None:
            context.branches.running -= 1
    return finished.result(context)


async def _adrive_or_give_up(
    context: WorkflowContext | None, asked: Operation | Light, call: Call | None
) -> _Finished:
    if context is None or call is None:
        return await _adrive_on(context, asked, lambda: None)
    try:
        place = call.place
        if context.was_given_up(call.number):
            with context.deliveries.until_given_up(place):
                await give_up_again(context, call)
            place = LAST
        finished = await _adrive_on(context, asked, lambda: refuse_to_record(context, call))
        await context.deliveries.turn(place)
        return finished
    except asyncio.CancelledError as cancel:
        await give_up(context, call, cancel)
        raise


async def _adrive_on(
    context: WorkflowContext | None, asked: Operation | Light, on_cancel: Callable[[], None]
) -> _Finished:
    if isinstance(asked, Light):
        operation = asked.operation
        turn = _advance(operation, None)
    else:
        operation = asked
        turn = await on_thread(partial(_advance, operation, None), on_cancel)
    while not isinstance(turn, _Finished):
        answer = await _await(context, turn)
        turn = await on_thread(partial(_advance, operation, answer), on_cancel)
    return turn


async def _adrive_freely(begin: Callable[[], Operation | Light], context: WorkflowContext | None) -> Any:
    with nullcontext() if context is None else context.side_by_side.calling():
        return await _adrive(None, await sync_to_async(begin, thread_sensitive=True)())


async def _await(context: WorkflowContext | None, turn: Any) -> Any:
    match turn:
        case Pause(seconds):
            await asyncio.sleep(seconds)
        case Wait():
            if context is None:  # only bodies wait long, so it is one that is no async def
                raise AsyncBodyNeeded
            await _leave_or_linger(context, turn)
        case _:
            return await turn


async def _leave_or_linger(context: WorkflowContext, wait: Wait) -> None:
    """Leave the worker once every branch of the body waits; until then look again now and then."""
    await context.deliveries.turn()
    branches = context.branches
    branches.waits.append(wait)
    try:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if len(branches.waits) == branches.running:
            branches.left_for = branches.joined()
            branches.leaves.set()
        await _linger(branches)
    finally:
        branches.waits.remove(wait)


async def _linger(branches: Branches) -> None:
    """Raises Suspended as soon as the body leaves."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):  # makes no task, which would count as a branch
            await branches.leaves.wait()
    if branches.left_for is not None:
        raise Suspended(branches.left_for)


def _note(loss: BaseException, context: WorkflowContext | None) -> None:
    """Once the run is lost, every further durable call of the body says so again."""
    if context is not None and context.broken_by is None:
        context.broken_by = loss
