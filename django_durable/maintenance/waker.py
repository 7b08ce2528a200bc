"""Woken runs of queues where waiting holds no slot stand in line again, at their old place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from django_durable.engine.launching.notices import give_notice
from django_durable.maintenance.announced import leaving_out_the_refused
from django_durable.models import database
from django_durable.models.announcing import announce

BATCH = 500


@dataclass(frozen=True, slots=True)
class Woken:
    """How many runs joined each queue; a full batch of one queue may have left more."""

    queues: Counter[str] = field(default_factory=Counter)


class Waker:
    """Safe to run everywhere at once: each row is taken by one."""

    def __init__(self, using: str, batch: int = BATCH) -> None:
        self.using = using
        self.batch = batch

    def run_once(self) -> Woken:
        """Wake one batch of each queue, the earliest first."""
        rows = leaving_out_the_refused(self._wake, self.using)
        return Woken(Counter(queue for _, queue in rows))

    def _wake(self, refused: list[str]) -> list[tuple[str, str]]:
        rows = database.fetch("wake_into_line", {"batch": self.batch, "refused": refused}, self.using)
        announce("wake", [workflow_id for workflow_id, _ in rows], self.using)
        if rows:
            give_notice(self.using)
        return rows
