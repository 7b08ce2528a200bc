"""What a caller holds of a run: its id, and questions and orders about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.db import connections

from django_durable.core.payloads.excerpt import quoted
from django_durable.core.states import FINAL, Status
from django_durable.engine import transitions, verbs
from django_durable.engine.execution.context import current
from django_durable.engine.execution.drive import perform, twin
from django_durable.engine.execution.effects import observe
from django_durable.engine.execution.operations import Operation, Pause, Raised, at_once
from django_durable.engine.waits import results
from django_durable.exceptions import (
    InsideTransaction,
    InvalidIdentifier,
    ResultTimeout,
    WorkflowCancelled,
    WorkflowNotFound,
)
from django_durable.models import database
from django_durable.models.workflow import WorkflowStatus

if TYPE_CHECKING:
    from django.db.models import QuerySet

STATUS = "durable.status"
SHORTEST_POLL = 0.01
LONGEST_POLL = 0.5


def id_of(run: str | Handle) -> str:
    """The id that is meant; raises InvalidIdentifier for what is neither a text nor a handle."""
    if isinstance(run, Handle):
        return run.id
    if not isinstance(run, str):
        raise InvalidIdentifier("workflow id", f"must be a text or a handle; it is {quoted(run)}")
    return run


def ids_of(runs: str | Handle | Iterable[str | Handle]) -> list[str]:
    """The ids of many runs, or of one that is given alone; raises InvalidIdentifier."""
    return [id_of(run) for run in each_of("workflow id", runs)]


def each_of(kind: str, given: Any) -> list[Any]:
    """A list of what may be given alone: a text is one, not its characters; raises InvalidIdentifier."""
    if isinstance(given, str | Handle):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes | bytearray):
        raise InvalidIdentifier(kind, f"must be a text, or several in a list; it is {quoted(given)}")
    return list(given)


class Handle:
    """One run. Nothing is read before it is asked for, and nothing read is kept."""

    def __init__(self, id: str | Handle, using: str | None = None) -> None:
        self.id = id_of(id)
        self._using = using

    def __repr__(self) -> str:
        return f"<workflow {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def using(self) -> str:
        return self._using or database.alias()

    @property
    def record(self) -> WorkflowStatus:
        """The row as it is now; raises WorkflowNotFound."""
        found = self._rows.first()
        if found is None:
            raise WorkflowNotFound(self.id)
        return found

    async def arecord(self) -> WorkflowStatus:
        return await sync_to_async(lambda: self.record)()

    @property
    def status(self) -> Status:
        """Its status now; inside a body a recorded step."""
        return Status(self._observe())

    async def astatus(self) -> Status:
        return Status(await twin(self._observe)())

    def result(self, timeout: float | timedelta | None = None) -> Any:
        """Wait for the outcome: the body's return value, or its error raised.

        Raises ResultTimeout after `timeout` seconds (the run goes on), WorkflowCancelled, WorkflowParked,
        WorkflowFailed if the error's own type cannot be rebuilt here, and InsideTransaction where waiting
        could not end: a run that is not finished inside atomic().
        """
        return perform("result()", lambda: self._outcome(timeout))

    def _outcome(self, timeout: float | timedelta | None) -> Operation:
        if current() is not None:
            return results.result(self.id, timeout)
        return self._poll(results.limit_of(timeout))

    def _poll(self, seconds: float | None) -> Operation:
        give_up = None if seconds is None else time.monotonic() + seconds
        pause = SHORTEST_POLL
        while (ended := self._ended()) is None:
            if connections[self.using].in_atomic_block:
                raise InsideTransaction("result() of an unfinished workflow")
            if give_up is not None and time.monotonic() + pause > give_up:
                raise ResultTimeout(self.id, float(seconds or 0))
            yield Pause(pause)
            pause = min(pause * 1.5, LONGEST_POLL)
        error = ended.failure(WorkflowCancelled)
        return ended.value() if error is None else Raised(error)  # which may be a StopIteration

    def _ended(self) -> results.Settled | None:
        """None too for one that went on, by a retry or a resume, between the two looks."""
        if self._columns("status")[0] not in FINAL:
            return None
        return results.settled([self.id], self.using).get(self.id)

    def cancel(self, reason: str = "", *, cascade: bool = False) -> None:
        """Stop the run at its next durable call; raises TransitionRefused if it has ended.

        With `cascade` the runs it started go too. A body that cancels its own run ends there.
        """
        answer: Any = verbs.cancel([self.id], reason=reason, cascade=cascade, using=self.using)
        return answer

    def resume(self, *, queue: str | None = None) -> None:
        """Put a cancelled or parked run back in line; its recorded steps stay recorded."""
        return self._do("resume", lambda ids: transitions.resume(ids, queue=queue, using=self.using))

    def retry(self) -> None:
        """Put a failed run back in line, to go on from the step that failed."""
        return self._do("retry", lambda ids: transitions.retry(ids, using=self.using))

    def rewind(self, to_step: int) -> None:
        """Put a run that has ended back in line, its history from `to_step` on cut away."""
        return self._do("rewind", lambda ids: transitions.rewind(ids, to_step=to_step, using=self.using))

    def fork(
        self, from_step: int = 1, *, new_id: str | None = None, app_version: str | None = None
    ) -> Handle:
        """Start a copy that goes on from `from_step`, with the results recorded before it."""
        given: dict[str, Any] = {
            "from_step": from_step,
            "new_id": new_id,
            "app_version": app_version,
            "using": self.using,
        }
        copies: Any = verbs.as_step(
            "fork", lambda: transitions.fork([self.id], **given), lambda ids: Handle(ids[0], self._using)
        )
        return copies

    def delete(self) -> None:
        """Delete a run that has ended, with everything that hangs on it."""
        return self._do("delete", lambda ids: transitions.delete(ids, using=self.using))

    aresult = twin(result)
    acancel = twin(cancel)
    aresume = twin(resume)
    aretry = twin(retry)
    arewind = twin(rewind)
    afork = twin(fork)
    adelete = twin(delete)

    def seen(self) -> Operation:
        """The handle itself, once it was seen that there is such a run; inside a body a recorded look."""
        return self._unless_raised(self._observation())

    def _unless_raised(self, look: Operation) -> Operation:
        seen = yield from look
        return seen if isinstance(seen, Raised) else self

    def _do(self, verb: str, act: Callable[[list[str]], list[str]]) -> Any:
        return verbs.as_step(verb, lambda: act([self.id]))

    def _observe(self) -> Any:
        return perform("status", self._observation, instead="astatus()")

    def _observation(self) -> Operation:
        context = current()
        if context is None:
            return at_once(lambda: self._columns("status")[0])
        return observe(context, STATUS, lambda: self._columns("status")[0])

    @property
    def _rows(self) -> QuerySet[WorkflowStatus]:
        if not database.is_storable(self.id):
            raise WorkflowNotFound(self.id)
        rows: QuerySet[WorkflowStatus] = WorkflowStatus.objects.using(self.using).filter(pk=self.id)
        return rows

    def _columns(self, *names: str) -> tuple[Any, ...]:
        row = self._rows.values_list(*names).first()
        if row is None:
            raise WorkflowNotFound(self.id)
        return tuple(row)
