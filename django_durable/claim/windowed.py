"""One claim where limits or turns decide what comes next: settle a plan, lock it, mark what was locked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from django_durable.claim.identity import Identity
from django_durable.claim.usage import Meter
from django_durable.claim.windows import Directory, Window
from django_durable.core.planning.budget import start_buckets
from django_durable.core.planning.candidates import Candidate, limit_key_of, partition_of
from django_durable.core.planning.planner import Planner, Seek
from django_durable.core.planning.stops import StoppedBy
from django_durable.core.run import Run
from django_durable.models import WorkflowStatus, database


@dataclass(frozen=True, slots=True)
class Claims:
    """What one claim took, in rank order.

    `peer_at_work`: others hold limits that it needed; `met_peers`: or rows that it wanted.
    `leaves_woken`: a run that woke is due, and this worker may not take it now, or a peer just did.
    """

    runs: list[Run]
    planner: Planner | None = None
    peer_at_work: bool = False
    met_peers: bool = False
    leaves_woken: bool = False

    @property
    def stopped_by(self) -> StoppedBy | None:
        """What kept it from taking more, worked out when asked for; None: nothing had to be planned."""
        return None if self.planner is None else self.planner.stopped_by


class Reader(Protocol):
    """How a claim reads the line: from its head, or behind what is remembered of it.

    What it `asks_first` may be asked along with the queue's limits: then it is told the answers.
    """

    def asks_first(self, slots: int) -> list[database.Asked]: ...
    def take_first(self, answers: list[list[tuple[Any, ...]]]) -> None: ...
    def begin(self, planner: Planner) -> None: ...
    def next_window(self, planner: Planner) -> Window: ...
    def next_groups(self, planner: Planner) -> list[tuple[Seek, list[Candidate]]]: ...
    def walk(self, planner: Planner, busy: int) -> Directory | None: ...


class WindowedClaim:
    """One claim of a queue where limits or turns decide what comes next."""

    def __init__(self, reader: Reader, meter: Meter, identity: Identity, *, yields: bool = False) -> None:
        """`yields`: end where peers hold every limit of the plan, instead of looking for work behind them."""
        self.yields = yields
        self.reader = reader
        self.meter = meter
        self.using = meter.using
        self.runs = WorkflowStatus.objects.db_manager(meter.using)
        self.mine: dict[str, Any] = {"queue": meter.queue, **identity.new_claim()}
        limits = meter.limits
        self.planner = Planner(meter.rooms, fair=limits.fair, busy=meter.usage.busy)
        self.keys_held: set[str] = set()
        self.keys_elsewhere = False
        self.rows_elsewhere = False

    def look(self) -> Planner:
        """Settle a plan, and neither lock nor take what is in it."""
        if self._has_room:
            self.reader.begin(self.planner)
            self._settle()
        return self.planner

    def take(self) -> Claims:
        if not self._has_room:
            return Claims([], self.planner)
        self.reader.begin(self.planner)
        runs = self._mark_plan()
        self._count_starts(runs)
        met_peers = self.keys_elsewhere or self.rows_elsewhere
        return Claims(runs, self.planner, peer_at_work=self.keys_elsewhere, met_peers=met_peers)

    @property
    def _has_room(self) -> bool:
        rooms = self.meter.rooms
        return rooms.slots > 0 and (rooms.queue is None or rooms.queue > 0)

    def _mark_plan(self) -> list[Run]:
        """Mark the settled plan, all of it or nothing in one statement; what that misses changes the plan."""
        self._settle()
        while ids := [row.id for row in self.planner.plan]:
            if self._lock_limits():
                marked = {run.id: run for run in self.runs.mark_claimed({**self.mine, "ids": ids})}
                if marked or not self.planner.to_lock:
                    return [marked[workflow_id] for workflow_id in ids if workflow_id in marked]
                self._lock_rows()
            elif self.yields and not self.keys_held:
                return []
            self._settle()
        return []

    def _settle(self) -> None:
        while not self.planner.settled:
            if self.meter.learn_full():
                self.planner.recount(self.meter.rooms)
            elif self.planner.next_groups:
                self._read_groups()
            elif not self._walk():
                self._read_window()

    def _read_window(self) -> None:
        window = self.reader.next_window(self.planner)
        self._count({row.limit_key for row in window.rows}, {row.partition for row in window.rows})
        self.planner.read(*window)

    def _walk(self) -> bool:
        """Go on with the directory, between windows; whether it is complete now."""
        directory = self.reader.walk(self.planner, len(self.meter.usage.busy))
        if directory is None or not directory.complete:
            return False
        self._count(map(limit_key_of, directory.places), map(partition_of, directory.places))
        self.planner.directory(*directory)
        return True

    def _read_groups(self) -> None:
        found = self.reader.next_groups(self.planner)
        rows = [row for _, rows in found for row in rows]
        self._count({row.limit_key for row in rows}, {row.partition for row in rows})
        for seek, rows in found:
            self.planner.read_group(seek.group, rows, len(rows) < seek.limit)

    def _count(self, keys: Iterable[str | None], partitions: Iterable[str | None]) -> None:
        """Count what has not been met before, ahead of the rows that bring it."""
        if self.meter.read(keys, partitions):
            self.planner.recount(self.meter.rooms)

    def _lock_rows(self) -> None:
        """Hold the plan's rows, and learn which are held elsewhere and which are gone."""
        asked = self.planner.to_lock
        got = set(self.runs.lock_planned({**self.mine, "ids": asked}))
        self.planner.taken(got)
        missing = set(asked) - got
        self.rows_elsewhere = self.rows_elsewhere or bool(missing)
        held = set(self.runs.still_in_line({**self.mine, "ids": [*missing]})) if missing else set()
        self.planner.held(held)
        self._leave(missing - held)

    def _leave(self, gone: set[str]) -> None:
        self.planner.gone(gone)
        if gone and self.meter.limits.fair:
            self.meter.recount_groups()
            self.planner.recount(self.meter.rooms, self.meter.usage.busy)

    def _lock_limits(self) -> bool:
        """Hold the limit rows of the plan's keys, count behind them; False where that may change the plan."""
        limited = self.meter.usage.keys
        wanted = {
            row.limit_key
            for row in self.planner.plan
            if row.limit_key is not None and row.limit_key in limited
        }
        new = sorted(wanted - self.keys_held)
        if not new:
            return True
        held, shrank = self.meter.lock(new)
        self.keys_held |= held
        elsewhere = [key for key in new if key not in held]
        self.keys_elsewhere = self.keys_elsewhere or bool(elsewhere)
        self.meter.shut(elsewhere)
        if elsewhere or shrank:
            self.planner.recount(self.meter.rooms)
        return not (elsewhere or shrank)

    def _count_starts(self, runs: list[Run]) -> None:
        started = [(run.partition_key, run.limit_key) for run in runs]
        buckets = start_buckets(self.meter.queue, self.meter.limits, self.meter.usage, started)
        if buckets:
            database.change("record_starts", {"buckets": buckets}, self.using)
