"""What a caller holds of a run: its id, and questions and orders about it."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.db import connections

from django_durable.core import failures
from django_durable.core.states import FINAL, PARKED, Status
from django_durable.engine import payloads, transitions
from django_durable.exceptions import (
    InsideTransaction,
    ResultTimeout,
    StepFailed,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowNotFound,
    WorkflowParked,
)
from django_durable.models import database
from django_durable.models.workflow import WorkflowStatus

if TYPE_CHECKING:
    from django.db.models import QuerySet

SHORTEST_POLL = 0.01
LONGEST_POLL = 0.5


class Handle:
    """One run. Nothing is read before it is asked for, and nothing read is kept."""

    def __init__(self, id: str, using: str | None = None) -> None:
        self.id = id
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

    @property
    def status(self) -> Status:
        return Status(self._columns("status")[0])

    def result(self, timeout: float | timedelta | None = None) -> Any:
        """Wait for the outcome: the body's return value, or its error raised.

        Raises ResultTimeout after `timeout` seconds (the run goes on), WorkflowCancelled, WorkflowParked,
        WorkflowFailed if the error's own type cannot be rebuilt here, and InsideTransaction where waiting
        could not end: a run that is not finished inside atomic().
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        give_up = None if seconds is None else time.monotonic() + seconds
        pause = SHORTEST_POLL
        while (status := self.status) not in FINAL:
            if connections[self.using].in_atomic_block:
                raise InsideTransaction("result() of an unfinished workflow")
            if give_up is not None and time.monotonic() + pause > give_up:
                raise ResultTimeout(self.id, float(seconds or 0))
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_POLL)
        return self._settled(status)

    async def aresult(self, timeout: float | timedelta | None = None) -> Any:
        return await sync_to_async(self._result_in_a_thread, thread_sensitive=False)(timeout)

    def cancel(self, reason: str = "") -> None:
        """Stop the run at its next durable call; raises TransitionRefused if it has ended."""
        transitions.cancel([self.id], reason=reason, using=self.using)

    def resume(self, *, queue: str | None = None) -> None:
        """Put a cancelled or parked run back in line; its recorded steps stay recorded."""
        transitions.resume([self.id], queue=queue, using=self.using)

    def retry(self) -> None:
        """Put a failed run back in line, to go on from the step that failed."""
        transitions.retry([self.id], using=self.using)

    def _result_in_a_thread(self, timeout: float | timedelta | None) -> Any:
        try:
            return self.result(timeout)
        finally:
            connections[self.using].close()  # the thread goes back to a pool, where nobody else would

    def _settled(self, status: Status) -> Any:
        output, error, serialization = self._columns("output", "error", "serialization")
        if status == Status.SUCCESS:
            return None if output is None else payloads.decode(output, serialization)
        if status == PARKED:
            raise WorkflowParked(self.id)
        if status == Status.CANCELLED:
            raise WorkflowCancelled(self.id, _reason(error))
        raise self._failure(error or "")

    def _failure(self, error: str) -> BaseException:
        rebuilt = payloads.decode_error(error)
        if isinstance(rebuilt, StepFailed):
            return WorkflowFailed(self.id, rebuilt.path, rebuilt.message, rebuilt.traceback)
        return rebuilt

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


def _reason(error: str | None) -> str:
    return failures.summary(error).message if error else ""
