"""What lost executors ran goes back to its place in line; what was dispatched too often is parked.

An executor is lost when its lease ended. One worker takes it at a time: its row is locked while a batch of
its runs is given back, and goes when it owns nothing any more. Owners without a row are lost too; they are
given one lease to turn out to be alive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from django_durable.conf import settings
from django_durable.core.states import PARKED
from django_durable.engine.launching.notices import give_notice
from django_durable.engine.waits.waking import wake_waiters
from django_durable.maintenance.announced import leaving_out_the_refused
from django_durable.models import Executor, database
from django_durable.models.announcing import announce
from django_durable.signals import executor_lost

BATCH = 200
LONGEST = 1.0  # seconds of one pass


@dataclass(slots=True)
class Recovered:
    """What one pass did; executors that still own runs which others hold locked are left to the next pass."""

    executors: list[UUID] = field(default_factory=list)
    left: set[UUID] = field(default_factory=set)
    returned: int = 0
    parked: int = 0
    is_cut_short: bool = False

    @property
    def runs(self) -> int:
        return self.returned + self.parked


class Recovery:
    """Needs no slot and no leader: any number of workers may do it at once. `lease` is seconds."""

    def __init__(
        self, using: str, lease: float, batch: int = BATCH, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.using = using
        self.lease = lease
        self.batch = batch
        self.clock = clock
        self._orphans: dict[UUID, float] = {}

    def run_once(self) -> Recovered:
        """Recover what is lost by now, a batch a transaction, for about a second."""
        done = Recovered()
        until = time.monotonic() + LONGEST
        while self._recover_one(done):
            if time.monotonic() > until:
                done.is_cut_short = True
                break
        for orphan in self._ripe_orphans():
            while not done.is_cut_short and self._recover_orphan(orphan, done):
                done.is_cut_short = time.monotonic() > until
        for executor in done.executors:
            executor_lost.send_robust(Executor, executor=executor, successor=None)
        return done

    def _recover_one(self, done: Recovered) -> bool:
        """A batch of one lost executor's runs, its row locked meanwhile; False if there is none to take."""
        return leaving_out_the_refused(partial(self._recover_first, done), self.using)

    def _recover_first(self, done: Recovered, refused: list[str]) -> bool:
        lost = database.fetch("lost_executors", {"batch": len(done.left) + 1}, self.using)
        executor = next((found for (found,) in lost if found not in done.left), None)
        if executor is None:
            return False
        if self._give_back(executor, done, refused):
            return True
        if forget(executor, self.using):
            done.executors.append(executor)
        else:
            done.left.add(executor)
        return True

    def _recover_orphan(self, orphan: UUID, done: Recovered) -> bool:
        return leaving_out_the_refused(partial(self._give_back, orphan, done), self.using)

    def _give_back(self, executor: UUID, done: Recovered, refused: list[str]) -> bool:
        """Whether there may be more."""
        rows = give_back(executor, self.batch, self.using, refused=refused)
        parked = sum(status == PARKED for _, status in rows)
        done.parked += parked
        done.returned += len(rows) - parked
        return len(rows) >= self.batch

    def _ripe_orphans(self) -> list[UUID]:
        """Owners that were without a row one lease ago already."""
        now = self.clock()
        found = [orphan for (orphan,) in database.fetch("orphaned_executors", {}, self.using)]
        self._orphans = {orphan: self._orphans.get(orphan, now) for orphan in found}
        return [orphan for orphan, since in self._orphans.items() if now - since >= self.lease]


def give_back(
    executor: UUID, batch: int, using: str, *, refused: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Put runs of an executor in line or park them, in the open transaction; ids and what they are now."""
    params = {
        "executor": executor,
        "batch": batch,
        "max_claims": settings().max_recovery_attempts + 1,
        "refused": list(refused),
    }
    rows = database.fetch("recover", params, using)
    parked = [workflow_id for workflow_id, status in rows if status == PARKED]
    returned = [workflow_id for workflow_id, status in rows if status != PARKED]
    wake_waiters(parked, using)
    announce("park", parked, using)
    announce("recover", returned, using)
    if returned:
        give_notice(using)
    return rows


def forget(executor: UUID, using: str) -> bool:
    """Remove the row of an executor that owns nothing; False if it still owns a run."""
    return bool(database.fetch("forget_executor", {"executor": executor}, using))
