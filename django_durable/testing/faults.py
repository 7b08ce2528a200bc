"""Let steps fail and workers die where a test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from django_durable.core.fence import Fence
from django_durable.engine.execution.context import StepContext, interruptions, surrounding
from django_durable.exceptions import Superseded


class Hits:
    """How often the fault struck."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def fail_step(step: Any, error: BaseException | type[BaseException], *, times: int = 1) -> Iterator[Hits]:
    """Within the block the next `times` attempts of the step (or its name) raise `error` instead."""
    hits = Hits()

    def strike(context: StepContext, moment: str) -> None:
        if moment == "before" and context.name == _name(step) and hits.count < times:
            hits.count += 1
            raise error

    with _interrupting(strike):
        yield hits


@contextmanager
def crash_at(step: Any, *, when: Literal["before", "after"] = "before", times: int = 1) -> Iterator[Hits]:
    """Within the block the worker dies at the step: before its body, or after it and before its record.

    `drain` goes on as another worker would: it takes the run over and replays it.
    """
    hits = Hits()

    def strike(context: StepContext, moment: str) -> None:
        run = surrounding()
        if run is not None and moment == when and context.name == _name(step) and hits.count < times:
            hits.count += 1
            raise Crash(run.fence)

    with _interrupting(strike):
        yield hits


class Crash(Superseded):
    """The end of a worker as its body sees it: it writes nothing any more."""

    def __init__(self, fence: Fence) -> None:
        super().__init__(fence)


@contextmanager
def _interrupting(strike: Callable[[StepContext, str], None]) -> Iterator[None]:
    interruptions.append(strike)
    try:
        yield
    finally:
        interruptions.remove(strike)


def _name(step: Any) -> str:
    return step if isinstance(step, str) else str(step.name)
