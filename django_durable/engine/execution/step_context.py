"""The step whose body runs, as its body and the durable calls inside of it find it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from django_durable.exceptions import OutsideWorkflow


class StepContext(NamedTuple):
    """The step whose body runs now; `attempt` counts from 1."""

    workflow_id: str | None
    number: int | None
    name: str
    attempt: int = 1
    due: float | None = None

    def remaining(self) -> float | None:
        """Seconds left of this attempt's timeout, below 0 once it is over; None: it has none."""
        return None if self.due is None else self.due - time.monotonic()


step_here: ContextVar[StepContext | None] = ContextVar("durable_step", default=None)

# faults that tests put in the way of steps: called before a body and after it, may raise
interruptions: list[Callable[[StepContext, str], None]] = []


class running_step:
    """A context manager for the body of a step."""

    __slots__ = ("_step", "_token")

    def __init__(self, step: StepContext) -> None:
        self._step = step

    def __enter__(self) -> None:
        for interrupt in interruptions:
            interrupt(self._step, "before")
        self._token = step_here.set(self._step)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        try:
            for interrupt in interruptions if error is None else ():
                interrupt(self._step, "after")
        finally:
            step_here.reset(self._token)


def step_context() -> StepContext:
    """The step that runs here; raises OutsideWorkflow if none does."""
    step = step_here.get()
    if step is None:
        raise OutsideWorkflow("step_context()", "a step that runs")
    return step


def step_number() -> int | None:
    """The number of the step that runs here, if one does."""
    step = step_here.get()
    return None if step is None else step.number
