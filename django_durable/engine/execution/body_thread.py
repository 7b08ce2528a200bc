"""What an async body has done on its thread: once begun nothing stops it, so a cancel waits for its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from asgiref.sync import sync_to_async

from django_durable.core.payloads.late import looked_up_at_once
from django_durable.exceptions import ControlFlow, GivenUp


async def on_thread(work: Callable[[], Any], on_cancel: Callable[[], None]) -> Any:
    """What `work` returns, or raises; CancelledError if cancelled, once it has ended or cannot begin.

    `on_cancel` is told of a cancel while the work goes on. What ends the execution goes before the cancel.
    """
    future: Future[Any] = Future()
    try:
        await _run(future, work)
    except asyncio.CancelledError:
        if not future.cancel():
            on_cancel()
            await _end_of(future)
            error = future.exception()
            if isinstance(error, ControlFlow) and not isinstance(error, GivenUp):
                raise error from None
        raise
    return future.result()


async def surely(work: Callable[[], None]) -> None:
    """Have it done, whatever is cancelled meanwhile."""
    done: list[bool] = []

    def noting() -> None:
        work()
        done.append(True)

    while not done:
        try:
            await on_thread(noting, lambda: None)
        except asyncio.CancelledError:
            continue


def _run_here(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        with looked_up_at_once():
            # asgiref gives the body what the work has set in its context, half done after a cancel
            result = copy_context().run(work)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


_run = sync_to_async(_run_here, thread_sensitive=True)


async def _end_of(future: Future[Any]) -> None:
    waiter = asyncio.wrap_future(future)
    while not waiter.done():
        try:
            await asyncio.wait([waiter])
        except asyncio.CancelledError:
            continue
    waiter.exception()  # it is looked at, or the loop would complain
