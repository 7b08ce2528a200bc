"""The custom manager: it sends the claim's statements; django_durable.claim decides what to send."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.db import models

from django_durable.core.planning.budget import InFlight, QueueLimits
from django_durable.core.planning.candidates import Candidate, Place
from django_durable.core.run import Run
from django_durable.core.states import ACTIVE
from django_durable.models import database

if TYPE_CHECKING:
    from typing import Self

    from django_durable.models.workflow import WorkflowStatus

    Runs = models.QuerySet[WorkflowStatus]
else:
    Runs = models.QuerySet


class WorkflowQuerySet(Runs):
    def active(self) -> Self:
        return self.filter(status__in=sorted(ACTIVE))


class WorkflowManager(models.Manager.from_queryset(WorkflowQuerySet)):  # type: ignore[misc]
    """Each method sends one statement of sql/ on the manager's database."""

    def insert(self, params: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Insert runs in the order given; returns the ids that were free, and whether their queue exists."""
        rows = self._rows("enqueue", params)
        return [workflow_id for workflow_id, _ in rows], all(queue_exists for _, queue_exists in rows)

    def claim_head(self, queue: str, slots: int, mine: Mapping[str, Any]) -> list[Run]:
        """Claim the head of a line that nothing can reorder; empty also where something can."""
        return self._runs("claim_head", {"queue": queue, "slots": slots, **mine})

    def claim_woken(self, queue: str, slots: int, mine: Mapping[str, Any]) -> list[Run]:
        """Claim runs that waited and whose time has come; only this worker's own limits hold them back."""
        return self._runs("claim_woken", {"queue": queue, "slots": slots, **mine})

    def read_window(self, params: Mapping[str, Any]) -> list[Candidate]:
        """The next rows behind a place."""
        return [Candidate(*row) for row in self._rows("read_window", params)]

    def read_past(self, params: Mapping[str, Any]) -> tuple[list[Candidate], Place | None]:
        """The next rows behind a place, some left out, and where the stretch ended; None: with the line."""
        rows = self._rows("read_past", params)
        ended = rows.pop()[1:3] if rows and rows[-1][0] is None else None
        return [Candidate(*row) for row in rows], ended

    def walk_groups(self, params: Mapping[str, Any]) -> tuple[dict[str, Place], str | None, bool]:
        """Groups behind `after` with the places of their first rows; the last seen; whether none is left."""
        rows = self._rows("walk_groups", params)
        if not rows:
            return {}, params["after"], True
        last, *_, step = rows[-1]
        return {group: (rank, line) for group, rank, line, _ in rows}, last, step < params["groups"]

    def read_groups(self, params: Mapping[str, Any]) -> list[tuple[str, Candidate]]:
        """The next rows of some groups, each with the name of its group."""
        return [(row[0], Candidate(*row[1:])) for row in self._rows("read_groups", params)]

    def lock_planned(self, params: Mapping[str, Any]) -> list[str]:
        return self._column("lock_planned", params)

    def mark_claimed(self, params: Mapping[str, Any]) -> list[Run]:
        """Take the planned rows that nobody else holds; returns the whole rows."""
        return self._runs("mark_claimed", params)

    def still_in_line(self, params: Mapping[str, Any]) -> list[str]:
        return self._column("still_in_line", params)

    def in_flight(self, counted: Mapping[str, Any]) -> list[InFlight]:
        """What the queue has in flight, by partition and group."""
        return [InFlight(*row) for row in self._rows("in_flight", counted)]

    def count_in_flight(self, counted: Mapping[str, Any]) -> tuple[int, int, int | None]:
        """What the queue has in flight in the fleet, of these in this worker, and the lowest number."""
        ((fleet, here, first),) = self._rows("count_in_flight", counted)
        return fleet, here, first

    def partitions_in_flight(
        self, counted: Mapping[str, Any], partitions: Iterable[str | None]
    ) -> list[tuple[str | None, int, int]]:
        """What some partitions have in flight in the fleet, and of these in this worker."""
        names = [name or "" for name in partitions]
        return self._rows("partitions_in_flight", {**counted, "partitions": names})

    def queues_with_work(self, queues: Sequence[str], ready: Mapping[str, Any]) -> dict[str, QueueLimits]:
        """Those of the queues that have a row which this process may start, and what they allow."""
        rows = self._rows("waiting_queues", {"queues": list(queues), **ready})
        return {name: QueueLimits(*limits) for name, *limits in rows}

    def _rows(self, statement: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return database.fetch(statement, params, using=self.db)

    def _column(self, statement: str, params: Mapping[str, Any]) -> list[Any]:
        return [value for (value,) in self._rows(statement, params)]

    def _runs(self, statement: str, params: Mapping[str, Any]) -> list[Run]:
        return [Run(*row) for row in self._rows(statement, params)]
