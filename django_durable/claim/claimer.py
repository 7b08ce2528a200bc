"""One claim: read the line, plan on what was read, lock the plan, mark what was locked.

Locks are taken late and in one order, and none of them waits, so no two claims can deadlock, nor a claim with
a user who edits limits. Where claims lately got into each other's way they wait for their peers before all
this, holding nothing (see `contention`).

1. the queue's row, if it has a budget of its own; a peer holds it: this claim ends, to be tried again soon
2. the limit rows of the keys that the plan takes; a key that a peer holds waits for the next claim
3. the planned rows; one that another transaction holds keeps its place and is left to it

Counts that a lock guards are taken in a statement after the lock, at READ COMMITTED, so they see every claim
that held the lock before.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from django.db import OperationalError, transaction
from psycopg.errors import LockNotAvailable

from django_durable.claim import question
from django_durable.claim.contention import PATIENCE, Contention
from django_durable.claim.cursors import Cursors
from django_durable.claim.identity import Identity
from django_durable.claim.isolation import read_committed
from django_durable.claim.numbers import Numbers
from django_durable.claim.opening import Opening, open_queue
from django_durable.claim.positioned import PositionedReader
from django_durable.claim.rates import seconds_to_room
from django_durable.claim.usage import Meter, counted_from
from django_durable.claim.windowed import Claims, Reader, WindowedClaim
from django_durable.claim.windows import LineReader
from django_durable.core.planning.budget import QueueLimits
from django_durable.core.planning.oldest import Oldest
from django_durable.core.planning.stops import StoppedBy
from django_durable.core.run import Run
from django_durable.instrument import instrument
from django_durable.models import WorkflowStatus, database
from django_durable.models.announcing import announce_claims

__all__ = ["Claimer", "Claims"]


class Claimer:
    """Claims on behalf of one executor, each time in a transaction of its own."""

    def __init__(self, executor_id: UUID, using: str) -> None:
        self._identity = Identity.of(executor_id, using)
        self.using = using
        self.runs = WorkflowStatus.objects.db_manager(using)
        self.cursors = Cursors(using)
        self.contention = Contention()
        self.numbers = Numbers(using)
        self._oldest = Oldest()  # of the claim that is being made
        self._patience: float | None = None  # of the claim that is being made; None: it does not wait
        self._limits: dict[str, QueueLimits] = {}
        self._yielded: set[str] = set()  # queues left to peers by the last claim
        self._keyed: set[str] = set()  # queues whose last claim met limited keys
        self._woken: set[str] | None = None  # None: nobody looked for woken runs, so each claim tries
        self.wakes: dict[str, float] = {}  # seconds until the next run of a queue wakes, from the last look

    @property
    def identity(self) -> Identity:
        return self._identity

    @identity.setter
    def identity(self, identity: Identity) -> None:
        """Positions passed over what could not be started; where other rows can, they begin from nothing."""
        if identity.ready != self._identity.ready:
            self.cursors.forget()
        self._identity = identity

    def claim(self, queue: str, slots: int) -> Claims:
        """Take up to `slots` runs; raises InsideTransaction's kin (RuntimeError) inside an outer atomic()."""
        with instrument("claim", queue=queue, slots=slots) as facts:
            claims = self._claim_among_peers(queue, slots)
            facts["claimed"] = len(claims.runs)
            facts["peer_at_work"] = claims.peer_at_work
        return claims

    def queues_with_work(self, queues: Sequence[str]) -> list[str]:
        """Those of the queues that have a row this process may start; `wakes` says when the next wake."""
        answer = question.ask(queues, self.identity.ready, self.cursors, self.using)
        self._limits.update(answer.in_line)
        woken = self._note_wakes(queues, answer.wakes)
        found = woken | answer.in_line.keys() | answer.behind_positions
        with_work = [queue for queue in queues if queue in found]
        if any(self._counts(queue) for queue in with_work):
            self.numbers.look()  # when it is due: rather now than within a claim
        return with_work

    def seconds_to_room(self, queue: str, stopped: StoppedBy, ago: float) -> float | None:
        """Until a rate that stopped its claim, begun so many seconds ago, has room; None: no rate did."""
        return seconds_to_room(queue, self._limits.get(queue, QueueLimits()), stopped, ago, self.using)

    def _note_wakes(self, queues: Sequence[str], wakes: Mapping[str, tuple[float, float | None]]) -> set[str]:
        """Returns the queues that have a woken run which is due."""
        due = {queue for queue, (seconds, _) in wakes.items() if seconds <= 0}
        to_come = {queue: later if queue in due else seconds for queue, (seconds, later) in wakes.items()}
        self.wakes = {queue: seconds for queue, seconds in to_come.items() if seconds is not None}
        self._woken = (self._woken or set()).difference(queues) | due
        return due

    def _claim_among_peers(self, queue: str, slots: int) -> Claims:
        self._patience = PATIENCE if self.contention.waits(queue) else None
        try:
            claims = self._claim_in_transaction(queue, slots)
        except OperationalError as error:
            if self._patience is None or not isinstance(error.__cause__, LockNotAvailable):
                raise
            self.contention.waited_in_vain(queue)
            self._patience = None
            claims = self._claim_in_transaction(queue, slots)
        if claims.met_peers:
            self.contention.met_peers(queue)
        return claims

    def _claim_in_transaction(self, queue: str, slots: int) -> Claims:
        remembered = self._remembered(queue) if slots > 0 else None
        self._oldest = self.numbers.look() if self._counts(queue) else Oldest()
        started = time.monotonic()
        with read_committed(self.using), transaction.atomic(using=self.using, durable=True):
            claims = self._take_all(queue, slots, remembered) if slots > 0 else Claims([])
            announce_claims(claims.runs, self.using)
        if remembered is not None:
            remembered.rise(run.id for run in claims.runs)
        if self._patience is None:  # else the time is that of the wait
            note = self.cursors.note_cold if remembered is None else self.cursors.note_warm
            note(queue, time.monotonic() - started)
        return claims

    def _counts(self, queue: str) -> bool:
        return queue in self._limits and self._limits[queue].counts

    def _remembered(self, queue: str) -> PositionedReader | None:
        if not self.cursors.engages(queue):
            return None
        limits = self._limits.get(queue) or self._read(queue)
        if limits is None:
            return None
        positions = self.cursors.positions(queue, limits)
        if positions is None:
            return None
        return PositionedReader(queue, self.identity.ready, self.using, positions)

    def _take_all(self, queue: str, slots: int, remembered: PositionedReader | None) -> Claims:
        """Woken runs first: they have begun, and keep their place in the limits."""
        if self._woken is not None and queue not in self._woken:
            return self._take(queue, slots, remembered)
        woken = self.runs.claim_woken(queue, slots, self.identity.new_claim())
        if len(woken) == slots:
            return Claims(woken)
        if woken:
            self._patience = None  # who waits for peers holds nothing
            self._forget_woken(queue)
        claims = self._take(queue, slots - len(woken), remembered)
        leaves_woken = self._woken is not None and not woken
        return replace(claims, runs=[*woken, *claims.runs], leaves_woken=leaves_woken)

    def _forget_woken(self, queue: str) -> None:
        if self._woken is not None:
            self._woken.discard(queue)

    def _take(self, queue: str, slots: int, remembered: PositionedReader | None) -> Claims:
        known = self._limits.get(queue) or self._read(queue)
        if known is None:
            return Claims([])
        if known.is_plain and remembered is None and queue not in self._keyed:
            runs = self.runs.claim_head(queue, slots, self.identity.new_claim())
            if runs:
                return Claims(in_rank_order(runs))
        return self._take_in_windows(queue, slots, known, remembered)

    def _take_in_windows(
        self, queue: str, slots: int, known: QueueLimits, remembered: PositionedReader | None
    ) -> Claims:
        reader = remembered or LineReader(queue, self.identity.ready, self.using)
        first = [] if known.paused else reader.asks_first(slots)
        counted = counted_from(queue, self.identity.executor, self._oldest)
        opening = open_queue(queue, known, counted, first, self.using, patience=self._patience)
        limits = opening.limits
        if limits is None:  # held, or gone: the next claim, which reads it again, learns that
            self._limits.pop(queue, None)
            return Claims([], peer_at_work=known.has_fleet_budget, met_peers=known.has_fleet_budget)
        self._limits[queue] = limits
        if limits.paused:
            self.cursors.forget(queue)
            return Claims([])
        if not limits.opens_like(known):
            return self._take_in_windows(queue, slots, limits, remembered)
        if first:
            reader.take_first(opening.first)
        return self._plan(reader, self._meter(queue, limits, slots, opening))

    def _meter(self, queue: str, limits: QueueLimits, slots: int, opening: Opening) -> Meter:
        return Meter(
            queue,
            limits,
            slots,
            executor=self.identity.executor,
            using=self.using,
            oldest=self._oldest,
            in_flight=opening.in_flight,
        )

    def _plan(self, reader: Reader, meter: Meter) -> Claims:
        queue = meter.queue
        claims = WindowedClaim(reader, meter, self.identity, yields=queue not in self._yielded).take()
        (self._yielded.discard if claims.runs or not claims.peer_at_work else self._yielded.add)(queue)
        (self._keyed.add if meter.usage.keys else self._keyed.discard)(queue)
        return claims

    def _read(self, queue: str) -> QueueLimits | None:
        rows = database.fetch("read_queue", {"queue": queue}, self.using)
        if not rows:
            return None
        self._limits[queue] = limits = QueueLimits(*rows[0])
        return limits


def in_rank_order(runs: list[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: (run.rank, run.seq))
