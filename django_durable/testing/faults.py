"""Let steps fail and workers die where a test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

from django_durable.core.fence import Fence
from django_durable.core.payloads.excerpt import quoted
from django_durable.declare import Step
from django_durable.engine.execution.context import surrounding
from django_durable.engine.execution.step_context import StepContext, interruptions
from django_durable.exceptions import InvalidOption, Superseded

Error = BaseException | type[BaseException]
MOMENTS = ("before", "after")


class Hits:
    """How often the fault struck."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def fail_step(step: Any, error: Error, *, times: int = 1) -> Iterator[Hits]:
    """Within the block the next `times` attempts of the step (or its name) raise `error` instead.

    Raises AssertionError at the end of the block if none did.
    """
    with _interrupting(_name(step), "before", times, lambda: error) as hits:
        yield hits


@contextmanager
def crash_at(step: Any, *, when: Literal["before", "after"] = "before", times: int = 1) -> Iterator[Hits]:
    """Within the block the worker dies at the step: before its body, or after it and before its record.

    `drain` goes on as another worker would: it takes the run over and replays it. Raises AssertionError at
    the end of the block if none died.
    """
    if when not in MOMENTS:
        raise InvalidOption(f"when must be one of {MOMENTS}; it is {quoted(when)}")
    with _interrupting(_name(step), when, times, _crash) as hits:
        yield hits


class Crash(Superseded):
    """The end of a worker as its body sees it: it writes nothing any more."""

    def __init__(self, fence: Fence) -> None:
        super().__init__(fence)


def _crash() -> Error | None:
    run = surrounding()
    return None if run is None else Crash(run.fence)


@contextmanager
def _interrupting(name: str, when: str, times: int, error: Callable[[], Error | None]) -> Iterator[Hits]:
    if type(times) is not int or times < 1:
        raise InvalidOption(f"times must be a whole number from 1; it is {quoted(times)}")
    hits, ran = Hits(), dict[str, None]()

    def strike(context: StepContext, moment: str) -> None:
        ran[context.name] = None
        fault = error() if (moment, context.name) == (when, name) and hits.count < times else None
        if fault is not None:
            hits.count += 1
            raise fault

    interruptions.append(strike)
    try:
        yield hits
    finally:
        interruptions.remove(strike)
    if not hits.count:
        steps = ", ".join(map(repr, ran)) or "none"
        raise AssertionError(f"the fault never struck: {when} step {name!r}; steps that ran: {steps}")


def _name(step: Any) -> str:
    made = step.func if isinstance(step, partial) else step  # of a step that is an instance's method
    if isinstance(made, Step):
        return made.name
    if not isinstance(step, str):
        raise InvalidOption(f"pass what @step made, or its name; {quoted(step)} is neither")
    return step
