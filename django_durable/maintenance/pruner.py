"""Runs that ended longer ago than their status is kept for go, with all that hangs on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django_durable.claim.isolation import read_committed
from django_durable.core.states import FINAL
from django_durable.maintenance.bounded import bounded
from django_durable.models import database

BATCH = 500
BUCKETS = 1000  # of rates that are looked at together


@dataclass(slots=True)
class Pruned:
    """How many runs of each status, and how many counted starts of rates."""

    runs: Counter[str] = field(default_factory=Counter)
    starts: int = 0
    is_cut_short: bool = False

    @property
    def total(self) -> int:
        return sum(self.runs.values()) + self.starts


class Pruner:
    """`retention` maps final statuses to the seconds that runs are kept; one that is not named is kept."""

    def __init__(self, using: str, retention: Mapping[str, float | None], batch: int = BATCH) -> None:
        self.using = using
        self.ages = {
            str(status): timedelta(seconds=seconds)
            for status in sorted(FINAL)
            if (seconds := retention.get(status)) is not None
        }
        self.batch = batch
        self._reached: dict[str, datetime | None] = {}
        self._bucket = ""  # up to which starts were looked at

    def run_once(self) -> Pruned:
        """Delete one batch of each status, and of starts; full batches are told of."""
        done = Pruned()
        for status, age in self.ages.items():
            count, last = self._prune(status, age, self._reached.get(status))
            if count >= self.batch:
                self._reached[status] = last
                done.is_cut_short = True
            else:
                self._reached.pop(status, None)
            done.runs[status] += count
        done.starts = self._prune_starts()
        done.is_cut_short = done.is_cut_short or done.starts >= self.batch or self._bucket != ""
        return done

    def _prune(self, status: str, age: timedelta, after: datetime | None) -> tuple[int, datetime | None]:
        """How many, and when the last of them had ended: the next batch begins there, behind what is kept."""
        params = {"status": status, "age": age, "after": after, "batch": self.batch}
        with read_committed(self.using), bounded(self.using):
            held = database.fetch("hold_outdated", params, self.using)
            if held:
                database.change("delete_runs", {"ids": [workflow_id for workflow_id, _ in held]}, self.using)
        return len(held), max((ended for _, ended in held), default=None)

    def _prune_starts(self) -> int:
        """How many; where the batch was not full, the next one begins behind the buckets of this one."""
        params = {"after": self._bucket, "buckets": BUCKETS, "batch": self.batch}
        with bounded(self.using):
            ((count, buckets, last),) = database.fetch("prune_starts", params, self.using)
        if count < self.batch:
            self._bucket = last if buckets == BUCKETS else ""
        return int(count)
