"""What the running body's durable calls find: which run this is, its history, and the next number.

Imports no models, so that declarations can be made before Django has loaded them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from django_durable.core.fence import Fence
from django_durable.exceptions import OutsideWorkflow, Superseded, UnexpectedStep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django_durable.core.run import Run
    from django_durable.engine.recorder import Recorder


class Recorded(NamedTuple):
    """One checkpoint of the history."""

    step: int
    name: str
    output: str | None
    error: str | None
    serialization: str
    child: str | None


StepCaller = Callable[["WorkflowContext", Any, tuple[Any, ...], dict[str, Any]], Any]


@dataclass(slots=True)
class WorkflowContext:
    """One execution of one run.

    Numbers are taken at the call, so that concurrent calls are numbered in source order. Once the run is lost
    or has diverged, every further durable call says so again, whatever the body swallowed.
    """

    run: Run
    history: dict[int, Recorded]
    recorder: Recorder
    using: str
    step_caller: StepCaller
    atomic_depth: int = 0
    last_step: int = 0
    broken_by: BaseException | None = None

    @property
    def fence(self) -> Fence:
        return self.run.fence

    def call_step(self, step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.step_caller(self, step, args, kwargs)

    def take_number(self) -> int:
        if self.broken_by is not None:
            raise self.broken_by
        self.last_step += 1
        return self.last_step

    def find(self, number: int, name: str) -> Recorded | None:
        """The checkpoint of this number; raises UnexpectedStep if another call was recorded there."""
        recorded = self.history.get(number)
        if recorded is not None and recorded.name != name:
            self.broken_by = UnexpectedStep(self.run.id, number, recorded.name, name)
            raise self.broken_by
        return recorded

    @contextmanager
    def watching_ownership(self) -> Iterator[None]:
        try:
            yield
        except Superseded as lost:
            self.broken_by = lost
            raise


class StepContext(NamedTuple):
    """The step whose body runs now; `attempt` counts from 1."""

    workflow_id: str | None
    number: int | None
    name: str
    attempt: int = 1


_workflow: ContextVar[WorkflowContext | None] = ContextVar("durable_workflow", default=None)
_step: ContextVar[StepContext | None] = ContextVar("durable_step", default=None)


@contextmanager
def running_workflow(context: WorkflowContext) -> Iterator[None]:
    token = _workflow.set(context)
    try:
        yield
    finally:
        _workflow.reset(token)


@contextmanager
def running_step(step: StepContext) -> Iterator[None]:
    token = _step.set(step)
    try:
        yield
    finally:
        _step.reset(token)


def current() -> WorkflowContext | None:
    """The run whose body calls, unless the call comes from inside one of its steps."""
    return None if _step.get() is not None else _workflow.get()


def required(call: str) -> WorkflowContext:
    context = current()
    if context is None:
        raise OutsideWorkflow(call)
    return context


def step_context() -> StepContext:
    """The step that runs here; raises OutsideWorkflow if none does."""
    step = _step.get()
    if step is None:
        raise OutsideWorkflow("step_context()")
    return step


def workflow_id() -> str | None:
    """The id of the run that is executing here, in its body or in a step of it."""
    context = _workflow.get()
    return None if context is None else context.run.id
