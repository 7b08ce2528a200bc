"""What the running body's durable calls find: which run this is, its history, and the next number.

Imports no models, so that declarations can be made before Django has loaded them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar

from django_durable.core.branches import LAST
from django_durable.core.fence import Fence
from django_durable.core.run import Run
from django_durable.core.waits import Wait
from django_durable.engine.execution.deliveries import Deliveries
from django_durable.engine.execution.numbering import Numbering
from django_durable.engine.execution.origins import Failures, Origin
from django_durable.engine.execution.recorded import Recorded
from django_durable.engine.execution.side_by_side import SideBySide
from django_durable.engine.execution.step_context import step_here
from django_durable.engine.execution.writes import Checkpoint, Receipt, Recorder
from django_durable.exceptions import (
    AnotherThread,
    DeadlinePassed,
    GivenUp,
    InsideWorkflow,
    OutsideWorkflow,
    UnexpectedStep,
)

StepCaller = Callable[["WorkflowContext", Any, tuple[Any, ...], dict[str, Any]], Any]

GIVEN_UP = "durable.given_up"  # what a call is recorded as that an async body was cancelled in
REFUSALS = 100  # after which a body is taken for one that never ends by itself
REFUSED_FOR = 0.1  # seconds that each further call takes
GOES_ON = (
    "the body of workflow %s %s goes on although it was ended (%s): it catches BaseException, "
    "and keeps its slot until it returns or the process ends"
)

logger = logging.getLogger("django_durable.bodies")


@dataclass(slots=True)
class Branches:
    """How many branches of an async body are inside durable calls, and for what those wait that wait."""

    running: int = 0
    waits: list[Wait] = field(default_factory=list)
    leaves: asyncio.Event = field(default_factory=asyncio.Event)
    left_for: Wait | None = None

    def joined(self) -> Wait:
        return reduce(Wait.joined, self.waits)


@dataclass(slots=True)
class WorkflowContext:
    """One execution of one run.

    Numbers are taken at the call, so that concurrent calls are numbered in source order; tasks of an async
    body count apart. Once the run is lost or has diverged, every further durable call says so again, whatever
    the body swallowed. `due` is the deadline on this process's monotonic clock. Only the `threads` of the
    body itself may take numbers. `in_flight` is for what was recorded last, until it is known to be
    committed: a body that is no coroutine goes on meanwhile, as far as its next durable call.
    """

    is_rehearsal: ClassVar[bool] = False  # writes nothing

    run: Run
    history: dict[int, Recorded]
    recorder: Recorder
    using: str
    step_caller: StepCaller
    atomic_depth: int = 0
    is_async: bool = False
    due: float | None = None
    calls: int = 0  # that took a number
    broken_by: BaseException | None = None
    in_flight: Receipt | None = None
    branches: Branches = field(default_factory=Branches)
    failures: Failures = field(default_factory=Failures)
    refusals: int = 0
    given_up: dict[int, int] = field(default_factory=dict)  # by number: the calls until then
    began: float = field(default_factory=time.monotonic)
    is_over: bool = False  # an async body has returned, or raised
    side_by_side: SideBySide = field(default_factory=SideBySide)
    numbering: Numbering = field(init=False)
    deliveries: Deliveries = field(init=False)
    threads: set[int] = field(default_factory=lambda: {threading.get_ident()})

    def __post_init__(self) -> None:
        self.numbering = Numbering(self.run.id)
        self.deliveries = Deliveries(self.history if self.is_async else {}, self.numbering)

    @property
    def fence(self) -> Fence:
        return self.run.fence

    @property
    def is_due(self) -> bool:
        return self.due is not None and time.monotonic() >= self.due

    def call_step(self, step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.step_caller(self, step, args, kwargs)

    def take_number(self) -> int:
        """The next, once what was recorded before it is committed."""
        if threading.get_ident() not in self.threads:
            raise AnotherThread(self.run.id)
        self.land()
        if self.broken_by is None and self.due is not None and time.monotonic() >= self.due:
            self.broken_by = DeadlinePassed(self.run.id)
        if self.broken_by is not None:
            self._slow_down()
            raise self.broken_by
        self.calls += 1
        return self.numbering.take()

    def _slow_down(self) -> None:
        """A body that catches all it is told and calls again, for ever maybe, must not keep a core busy."""
        self.refusals += 1
        if self.refusals == REFUSALS:
            logger.error(GOES_ON, self.run.name, self.run.id, self.broken_by)
        if self.refusals >= REFUSALS:
            time.sleep(REFUSED_FOR)

    def find(self, number: int, name: str) -> Recorded | None:
        """The checkpoint of this number; raises UnexpectedStep if another call was recorded there."""
        recorded = self.history.get(number)
        if recorded is not None and recorded.name == GIVEN_UP and self.is_async:
            return None  # who drives the call waits for the cancel first
        if recorded is not None and recorded.name != name:
            self.broken_by = UnexpectedStep(self.run.id, number, recorded.name, name)
            raise self.broken_by
        return recorded

    def record(self, checkpoint: Checkpoint) -> None:
        """Hand over what a durable call gave; a branch of an async body returns once it is committed."""
        try:
            receipt = self.recorder.hand_over(checkpoint)
            if self.is_async:  # not in flight for other branches, whose next calls would hold up the loop
                receipt.wait()
            else:
                self.in_flight = receipt
        except BaseException as error:
            self.broken_by = self.broken_by or error
            raise

    def land(self) -> None:
        """Return once all that was recorded is committed. What keeps it from that ends the execution."""
        receipt, self.in_flight = self.in_flight, None
        if receipt is None:
            return
        try:
            receipt.wait()
        except BaseException as error:
            self.broken_by = self.broken_by or error
            raise

    def note_failure(self, error: BaseException, steps: tuple[int, ...]) -> None:
        self.failures.note(error, self.numbering.ordinals(steps), self.calls)

    def origin_of(self, error: BaseException) -> Origin | None:
        """By the numbers that a retry has to drop, also those that the failure made the body give up."""
        origin = self.failures.origin_of(error, self.calls)
        if origin is None:
            return None
        given_up = tuple(number for number, reach in self.given_up.items() if reach >= origin.then - 1)
        origin = origin._replace(steps=tuple(sorted({*origin.steps, *self.numbering.ordinals(given_up)})))
        if not self.numbering.has_branches:
            return origin
        dropped = {*self.numbering.numbers(origin.steps), *self.numbering.taken_from(origin.then)}
        return Origin(tuple(sorted(dropped)), LAST)

    def refuse_given_up(self, number: int) -> None:
        """Raise GivenUp if the body was cancelled in this call, which may still go on."""
        if number in self.given_up:
            raise GivenUp(f"call {number} of workflow {self.run.id!r} was given up")

    def was_given_up(self, number: int) -> bool:
        """Whether an earlier execution recorded so."""
        recorded = self.history.get(number)
        return recorded is not None and recorded.name == GIVEN_UP

    @property
    def is_ending(self) -> bool:
        """Whether what the body does from here on makes no difference to the run."""
        return self.is_over or self.is_due or self.broken_by is not None

    def refuse_live(self, number: int, name: str) -> None:
        """Raise where nothing but what is recorded may be called."""


_workflow: ContextVar[WorkflowContext | None] = ContextVar("durable_workflow", default=None)


@contextmanager
def running_workflow(context: WorkflowContext | None) -> Iterator[None]:
    """None: what runs in the block is no part of a body."""
    token = _workflow.set(context)
    try:
        yield
    finally:
        _workflow.reset(token)


def current() -> WorkflowContext | None:
    """The run whose body calls, unless the call comes from inside one of its steps."""
    return None if step_here.get() is not None else _workflow.get()


def surrounding() -> WorkflowContext | None:
    """The run in whose body or step the call is made."""
    return _workflow.get()


def required(call: str) -> WorkflowContext:
    context = current()
    if context is None:
        raise OutsideWorkflow(call)
    return context


def refuse_inside(call: str) -> None:
    """Raise InsideWorkflow where a body calls what a replay could not answer alike."""
    if current() is not None:
        raise InsideWorkflow(call)


def workflow_id() -> str | None:
    """The id of the run that is executing here, in its body or in a step of it."""
    context = _workflow.get()
    return None if context is None else context.run.id
