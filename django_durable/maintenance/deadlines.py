"""Runs past their deadline, or not started by the time they had to be, are cancelled."""

from __future__ import annotations

from dataclasses import dataclass

from django_durable.core.payloads import failures
from django_durable.engine.waits.waking import wake_waiters
from django_durable.exceptions import WorkflowCancelled
from django_durable.maintenance.announced import leaving_out_the_refused
from django_durable.models import database
from django_durable.models.announcing import announce

BATCH = 500


@dataclass(frozen=True, slots=True)
class Ended:
    """The ids cancelled; full batches may have left more."""

    timed_out: tuple[str, ...]
    expired: tuple[str, ...]

    @property
    def total(self) -> int:
        return len(self.timed_out) + len(self.expired)


class Deadlines:
    """A running body learns of it at its next durable call."""

    def __init__(self, using: str, batch: int = BATCH) -> None:
        self.using = using
        self.batch = batch

    def run_once(self) -> Ended:
        """Cancel one batch of each kind, those that are overdue the longest first."""
        return Ended(self._cancel("time_out", "deadline"), self._cancel("expire", "expired"))

    def _cancel(self, statement: str, reason: str) -> tuple[str, ...]:
        params = {"batch": self.batch, "error": failures.describe(WorkflowCancelled("", reason))}

        def cancel(refused: list[str]) -> tuple[str, ...]:
            rows = database.fetch(statement, params | {"refused": refused}, self.using)
            cancelled = tuple(workflow_id for (workflow_id,) in rows)
            wake_waiters(cancelled, self.using)
            announce(statement, cancelled, self.using)
            return cancelled

        return leaving_out_the_refused(cancel, self.using)
