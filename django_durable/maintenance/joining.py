"""Runs whose time has come join the line, whatever it was that they waited for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

from django_durable.engine.launching.notices import give_notice
from django_durable.maintenance.announced import leaving_out_the_refused
from django_durable.models import database
from django_durable.models.announcing import announce

BATCH = 500


@dataclass(frozen=True, slots=True)
class Joined:
    """How many runs joined each queue; a full batch may have left more."""

    queues: Counter[str] = field(default_factory=Counter)


class Joining:
    """Safe to run everywhere at once: each row is taken by one."""

    statement: ClassVar[str]
    verb: ClassVar[str]

    def __init__(self, using: str, batch: int = BATCH) -> None:
        self.using = using
        self.batch = batch

    def run_once(self) -> Joined:
        """Put one batch in line, the earliest first."""
        rows = leaving_out_the_refused(self._join, self.using)
        return Joined(Counter(queue for _, queue in rows))

    def _join(self, refused: list[str]) -> list[tuple[str, str]]:
        rows = database.fetch(self.statement, {"batch": self.batch, "refused": refused}, self.using)
        announce(self.verb, [workflow_id for workflow_id, _ in rows], self.using)
        if rows:
            give_notice(self.using)
        return rows
