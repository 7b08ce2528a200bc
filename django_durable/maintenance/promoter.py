"""DELAYED runs whose time has come stand in line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from django_durable.engine.launching.notices import give_notice
from django_durable.maintenance.announced import leaving_out_the_refused
from django_durable.models import database
from django_durable.models.announcing import announce

BATCH = 500


@dataclass(frozen=True, slots=True)
class Promoted:
    """How many runs joined each queue; a full batch may have left more."""

    queues: Counter[str] = field(default_factory=Counter)


class Promoter:
    """Safe to run everywhere at once: each row is taken by one."""

    def __init__(self, using: str, batch: int = BATCH) -> None:
        self.using = using
        self.batch = batch

    def run_once(self) -> Promoted:
        """Promote one batch, the earliest first."""
        rows = leaving_out_the_refused(self._promote, self.using)
        return Promoted(Counter(queue for _, queue in rows))

    def _promote(self, refused: list[str]) -> list[tuple[str, str]]:
        rows = database.fetch("promote", {"batch": self.batch, "refused": refused}, self.using)
        announce("promote", [workflow_id for workflow_id, _ in rows], self.using)
        if rows:
            give_notice(self.using)
        return rows
