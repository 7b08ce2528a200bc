"""Run a function until it succeeds or its retry policy is spent. Nothing is recorded here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from django_durable.engine.context import StepContext, running_step
from django_durable.exceptions import ControlFlow, StepRetriesExhausted

if TYPE_CHECKING:
    from django_durable.core.declaration import StepDeclaration

Body = Callable[[], Any]


class Attempted(NamedTuple):
    """What came of a step: a value or the error its caller shall see; `seconds` covers all attempts."""

    value: Any
    error: BaseException | None
    attempts: int
    seconds: float


class Attempts:
    """Counts the failed tries of one step, and says when to stop."""

    def __init__(self, step: StepDeclaration) -> None:
        self.step = step
        self.errors: list[BaseException] = []
        self.started = time.monotonic()

    @property
    def number(self) -> int:
        return len(self.errors) + 1

    def failed(self, error: BaseException, *, again: bool = True) -> Attempted | None:
        """Note a failure; the end of the step, or None after the delay that comes before the next try."""
        self.errors.append(error)
        tries = len(self.errors)
        if not (again and self.step.retries.should_retry(tries, error)):
            spent = again and tries > 1 and tries >= self.step.retries.max_attempts
            return self._end(None, StepRetriesExhausted(self.step.name, self.errors) if spent else error)
        time.sleep(self.step.retries.delay(tries, error))
        return None

    def succeeded(self, value: Any) -> Attempted:
        return self._end(value, None)

    def _end(self, value: Any, error: BaseException | None) -> Attempted:
        tries = len(self.errors) + (error is None)
        return Attempted(value, error, tries, time.monotonic() - self.started)


def attempt(
    step: StepDeclaration, body: Body, *, workflow_id: str | None = None, number: int | None = None
) -> Attempted:
    attempts = Attempts(step)
    while True:
        try:
            with running_step(StepContext(workflow_id, number, step.name, attempts.number)):
                return attempts.succeeded(body())
        except ControlFlow:
            raise
        except BaseException as error:  # a body's SystemExit is its failure, not the worker's end
            ended = attempts.failed(error)
            if ended is not None:
                return ended


def call_plainly(step: StepDeclaration, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a step outside a workflow, or inside another step: retries are honoured, nothing is recorded."""
    ended = attempt(step, lambda: step.function(*args, **kwargs))
    if ended.error is not None:
        raise ended.error
    return ended.value
