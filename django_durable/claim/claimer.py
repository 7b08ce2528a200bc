"""One claim: read the line, plan on what was read, lock the plan, mark what was locked.

Locks are taken late and in one order, and none of them waits, so no two claims can deadlock, nor a claim with
a user who edits limits:

1. the queue's row, if it has a budget of its own; a peer holds it: this claim ends, the poller asks again soon
2. the limit rows of the keys that the plan takes; a key that a peer holds waits for the next claim
3. the planned rows; one that another transaction holds keeps its place and is left to it

Counts that a lock guards are taken in a statement after the lock, at READ COMMITTED, so they see every claim
that held the lock before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connections, transaction
from psycopg import IsolationLevel

from django_durable.claim.identity import Identity
from django_durable.claim.usage import Meter
from django_durable.claim.windows import LineReader
from django_durable.core.budget import QueueLimits, start_buckets
from django_durable.core.planner import Planner
from django_durable.core.run import Run
from django_durable.core.stops import StoppedBy
from django_durable.instrument import instrument
from django_durable.models import WorkflowStatus, database
from django_durable.signals import transition


@dataclass(frozen=True, slots=True)
class Claims:
    """What one claim took, in rank order, and what kept it from taking more (None: nothing was planned)."""

    runs: list[Run]
    stopped_by: StoppedBy | None = None
    peer_at_work: bool = False


class Claimer:
    """Claims on behalf of one executor, each time in a transaction of its own."""

    def __init__(self, executor_id: UUID, using: str) -> None:
        self.identity = Identity.of(executor_id, using)
        self.using = using
        self.runs = WorkflowStatus.objects.db_manager(using)
        self._limits: dict[str, QueueLimits | None] = {}

    def claim(self, queue: str, slots: int) -> Claims:
        """Take up to `slots` runs; raises InsideTransaction's kin (RuntimeError) inside an outer atomic()."""
        with instrument("claim", queue=queue, slots=slots) as facts:
            claims = self._claim_in_transaction(queue, slots)
            facts["claimed"] = len(claims.runs)
            facts["peer_at_work"] = claims.peer_at_work
        return claims

    def _claim_in_transaction(self, queue: str, slots: int) -> Claims:
        with read_committed(self.using), transaction.atomic(using=self.using, durable=True):
            claims = self._take(queue, slots) if slots > 0 else Claims([])
            for run in claims.runs:
                transition.send(Run, run=run, verb="claim")
        return claims

    def _take(self, queue: str, slots: int) -> Claims:
        known = self._limits.get(queue)
        if known is not None and known.is_plain:
            runs = self.runs.claim_head(queue, slots, self.identity.new_claim())
            if runs:
                return Claims(in_rank_order(runs))
        limits = self._open_queue(queue, known)
        if limits is None:
            return Claims([], peer_at_work=known is not None and known.has_fleet_budget)
        if limits.paused:
            return Claims([])
        return WindowedClaim(self, queue, limits, slots).take()

    def _open_queue(self, queue: str, known: QueueLimits | None) -> QueueLimits | None:
        """Its limits, its row held if they include a budget of its own; None: a peer holds it, or it is gone."""
        limits = None if known is None or not known.has_fleet_budget else self._locked(queue)
        if limits is None and (known is None or not known.has_fleet_budget):
            limits = self._read(queue)
            if limits is not None and limits.has_fleet_budget:
                self._limits[queue] = limits
                limits = self._locked(queue)
        if limits is not None:
            self._limits[queue] = limits
        return limits

    def _locked(self, queue: str) -> QueueLimits | None:
        return _limits(database.fetch("lock_queue", {"queue": queue}, self.using))

    def _read(self, queue: str) -> QueueLimits | None:
        return _limits(database.fetch("read_queue", {"queue": queue}, self.using))


class WindowedClaim:
    """One claim of a queue where limits or turns decide what comes next."""

    def __init__(self, claimer: Claimer, queue: str, limits: QueueLimits, slots: int) -> None:
        self.queue = queue
        self.limits = limits
        self.using = claimer.using
        self.runs = claimer.runs
        self.mine: dict[str, Any] = {"queue": queue, **claimer.identity.new_claim()}
        self.reader = LineReader(queue, claimer.identity.ready, claimer.using)
        self.meter = Meter(queue, limits, slots, executor=claimer.identity.executor, using=claimer.using)
        self.planner = Planner(self.meter.rooms, fair=limits.fair, busy=self.meter.usage.busy)
        self.keys_held: set[str] = set()
        self.keys_elsewhere = False

    def take(self) -> Claims:
        rooms = self.meter.rooms
        if rooms.slots <= 0 or (rooms.queue is not None and rooms.queue <= 0):
            return Claims([], self.planner.stopped_by)
        self._settle()
        while self.planner.to_lock and not self._lock():
            self._settle()
        runs = self._mark()
        self._count_starts(runs)
        return Claims(runs, self.planner.stopped_by, peer_at_work=self.keys_elsewhere)

    def _settle(self) -> None:
        while not self.planner.settled:
            if self.planner.next_groups:
                self._read_groups()
            else:
                self._read_window()

    def _read_window(self) -> None:
        rows, ended = self.reader.next_window(self.planner)
        if self.meter.read(rows):
            self.planner.recount(self.meter.rooms)
        self.planner.read(rows, ended)
        if not self.planner.settled:
            self.reader.walk(self.planner)

    def _read_groups(self) -> None:
        found = self.reader.next_groups(self.planner)
        if self.meter.read([row for _, rows in found for row in rows]):
            self.planner.recount(self.meter.rooms)
        for seek, rows in found:
            self.planner.read_group(seek.group, rows, len(rows) < seek.limit)

    def _lock(self) -> bool:
        """Hold the plan's limit rows and rows; False where what was found changed the plan."""
        if not self._lock_limits():
            return False
        asked = self.planner.to_lock
        params = {**self.mine, "ids": asked}
        got = set(self.runs.lock_planned(params))
        self.planner.taken(got)
        missing = [workflow_id for workflow_id in asked if workflow_id not in got]
        if missing:
            held = set(self.runs.still_in_line({**self.mine, "ids": missing}))
            self.planner.held(held)
            self.planner.gone([workflow_id for workflow_id in missing if workflow_id not in held])
        return self.planner.settled

    def _lock_limits(self) -> bool:
        """Hold the limit rows of the plan's keys and count behind them; False where the plan changed."""
        wanted = {row.limit_key for row in self.planner.plan if row.limit_key in self.meter.usage.keys}
        new = sorted(key for key in wanted if key is not None and key not in self.keys_held)
        if not new:
            return True
        held = {key for (key,) in database.fetch("lock_limits", {"keys": new}, self.using)}
        self.keys_held |= held
        elsewhere = [key for key in new if key not in held]
        self.keys_elsewhere = self.keys_elsewhere or bool(elsewhere)
        self.meter.shut(elsewhere)
        shrank = self.meter.recount(held)
        if elsewhere or shrank:
            self.planner.recount(self.meter.rooms)
            return False
        return True

    def _mark(self) -> list[Run]:
        ids = [row.id for row in self.planner.plan]
        if not ids:
            return []
        marked = {run.id: run for run in self.runs.mark_claimed({**self.mine, "ids": ids})}
        return [marked[workflow_id] for workflow_id in ids if workflow_id in marked]

    def _count_starts(self, runs: list[Run]) -> None:
        started = [(run.partition_key, run.limit_key) for run in runs]
        buckets = start_buckets(self.queue, self.limits, self.meter.usage, started)
        if buckets:
            database.change("record_starts", {"buckets": buckets}, self.using)


class read_committed:
    """Make the transactions that begin within the block READ COMMITTED, whatever the connection's default."""

    def __init__(self, using: str) -> None:
        self.connection = connections[using]

    def __enter__(self) -> None:
        self.before = None
        if not self.connection.in_atomic_block:
            self.connection.ensure_connection()
            self.before = self.connection.connection.isolation_level
            self.connection.connection.isolation_level = IsolationLevel.READ_COMMITTED

    def __exit__(self, *_: object) -> None:
        raw = self.connection.connection
        if raw is not None and not raw.closed and not self.connection.in_atomic_block:
            raw.isolation_level = self.before


def in_rank_order(runs: list[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: (run.rank, run.seq))


def _limits(rows: list[tuple[Any, ...]]) -> QueueLimits | None:
    return QueueLimits(*rows[0]) if rows else None
