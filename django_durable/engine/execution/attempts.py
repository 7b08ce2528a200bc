"""Run a function until it succeeds or its retry policy is spent. Nothing is recorded here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from django_durable.core.declaration import StepDeclaration
from django_durable.engine.execution.drive import perform
from django_durable.engine.execution.operations import Operation, Pause, Raised
from django_durable.engine.execution.step_context import StepContext, running_step
from django_durable.exceptions import ControlFlow, StepRetriesExhausted, StepTimeout

Body = Callable[[], Any]
Result = tuple[Any, BaseException | None]


class Attempted(NamedTuple):
    """What came of a step: a value or the error its caller shall see; `seconds` covers all attempts."""

    value: Any
    error: BaseException | None
    attempts: int
    seconds: float


class Attempts:
    """Counts the failed tries of one step, and says when to stop."""

    def __init__(
        self, step: StepDeclaration, workflow_id: str | None = None, number: int | None = None
    ) -> None:
        self.step = step
        self.workflow_id = workflow_id
        self.number = number
        self.errors: list[BaseException] = []
        self.started = time.monotonic()

    @property
    def context(self) -> StepContext:
        """Of the next try."""
        due = None if self.step.timeout is None else time.monotonic() + self.step.timeout
        return StepContext(self.workflow_id, self.number, self.step.name, len(self.errors) + 1, due)

    def failed(self, error: BaseException, *, again: bool = True) -> Attempted | float:
        """Note a failure: how the step ended, or the seconds to wait before the next try."""
        self.errors.append(error)
        tries = len(self.errors)
        if not (again and self.step.retries.should_retry(tries, error)):
            spent = again and tries > 1 and tries >= self.step.retries.max_attempts
            return self._end(None, StepRetriesExhausted(self.step.name, self.errors) if spent else error)
        return self.step.retries.delay(tries, error)

    def succeeded(self, value: Any) -> Attempted:
        return self._end(value, None)

    def ended(self, result: Result) -> Attempted | float:
        value, error = result
        return self.succeeded(value) if error is None else self.failed(error)

    def _end(self, value: Any, error: BaseException | None) -> Attempted:
        tries = len(self.errors) + (error is None)
        return Attempted(value, error, tries, time.monotonic() - self.started)


def try_once(attempts: Attempts, body: Body) -> Operation:
    """(value, error) of one try; an async body is awaited by whoever drives the call."""
    if attempts.step.is_async:
        result: Result = yield _awaited(attempts, body)
        return result
    try:
        with running_step(attempts.context):
            return body(), None
    except ControlFlow:
        raise
    except BaseException as error:  # a body's SystemExit is its failure, not the worker's end
        return None, error


async def _awaited(attempts: Attempts, body: Body) -> Result:
    limit = asyncio.timeout(attempts.step.timeout)
    try:
        with running_step(attempts.context):
            async with limit:
                return await body(), None
    except ControlFlow:
        raise
    except BaseException as error:
        if limit.expired() and isinstance(error, TimeoutError):
            return None, StepTimeout(attempts.step.name, attempts.step.timeout or 0)
        if isinstance(error, asyncio.CancelledError) and _is_being_cancelled():
            raise
        return None, error


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def call_plainly(step: StepDeclaration, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a step outside a workflow, or inside another step: retries are honoured, nothing is recorded.

    Each call gets an idempotency key of its own, unless the function has a default for that.
    """
    if step.needs_idempotency_key and step.lacks_idempotency_key(args, kwargs):
        kwargs = {**kwargs, "idempotency_key": str(uuid4())}
    body = partial(step.function, *args, **kwargs)
    return _acall_plainly(step, body) if step.is_async else perform(step.name, lambda: _plainly(step, body))


async def _acall_plainly(step: StepDeclaration, body: Body) -> Any:
    attempts = Attempts(step)
    while isinstance(ended := attempts.ended(await _awaited(attempts, body)), float):
        await asyncio.sleep(ended)
    if ended.error is not None:
        raise ended.error
    return ended.value


def _plainly(step: StepDeclaration, body: Body) -> Operation:
    attempts = Attempts(step)
    while isinstance(ended := attempts.ended((yield from try_once(attempts, body))), float):
        yield Pause(ended)
    return ended.value if ended.error is None else Raised(ended.error)
