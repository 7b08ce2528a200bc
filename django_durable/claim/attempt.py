"""One try of a claim: read the line, plan on what was read, lock the plan, mark what was locked.

Locks are taken late and in one order, and none of them waits, so no two claims can deadlock, nor a claim with
a user who edits limits. Where claims lately got into each other's way they wait for their peers before all
this, holding nothing (see `contention`).

1. the queue's row, if it has a budget of its own; a peer holds it: this claim ends, to be tried again soon
2. the limit rows of the keys that the plan takes; a key that a peer holds waits for the next claim
3. the planned rows; one that another transaction holds keeps its place and is left to it

Counts that a lock guards are taken in a statement after the lock, at READ COMMITTED, so they see every claim
that held the lock before. Where nothing reorders or holds back the line nothing is planned (see `head`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from django_durable.claim.head import commits_by_itself, take_behind, take_head
from django_durable.claim.identity import Identity
from django_durable.claim.isolation import read_committed
from django_durable.claim.memory import Memory
from django_durable.claim.opening import Opening, open_queue
from django_durable.claim.positioned import PositionedReader
from django_durable.claim.usage import Meter, counted_from
from django_durable.claim.windowed import Claims, Reader, WindowedClaim
from django_durable.claim.windows import LineReader
from django_durable.core.planning.budget import QueueLimits
from django_durable.core.planning.oldest import Oldest
from django_durable.core.run import Run
from django_durable.models import WorkflowStatus, database
from django_durable.models.announcing import announce_claims


@dataclass(slots=True, kw_only=True)
class Attempt:
    """`positions` None: it reads from the head of the line; `patience` None: it waits for no peers."""

    queue: str
    identity: Identity
    memory: Memory
    positions: PositionedReader | None
    oldest: Oldest
    patience: float | None

    def take(self, slots: int) -> Claims:
        """Take up to so many runs; what it took is committed when this returns."""
        is_alone = not self.memory.may_have_woken(self.queue) and commits_by_itself(self.memory.using)
        runs = self._take_unplanned(slots) if is_alone else []
        if runs:
            return Claims(runs)
        with read_committed(self.memory.using), transaction.atomic(using=self.memory.using, durable=True):
            claims = self._take_woken_first(slots, tries_unplanned=not is_alone)
            announce_claims(claims.runs, self.memory.using)
        return claims

    def _take_woken_first(self, slots: int, *, tries_unplanned: bool) -> Claims:
        """They have begun, and keep their place in the limits."""
        if not self.memory.may_have_woken(self.queue):
            return self._take(slots, tries_unplanned=tries_unplanned)
        runs = WorkflowStatus.objects.db_manager(self.memory.using)
        woken = runs.claim_woken(self.queue, slots, self.identity.new_claim())
        if len(woken) == slots:
            return Claims(woken)
        if woken:
            self.patience = None  # who waits for peers holds nothing
            self.memory.forget_woken(self.queue)
        claims = self._take(slots - len(woken), tries_unplanned=True)
        leaves_woken = self.memory.woken is not None and not woken
        return replace(claims, runs=[*woken, *claims.runs], leaves_woken=leaves_woken)

    def _take(self, slots: int, *, tries_unplanned: bool) -> Claims:
        known = self.memory.of(self.queue)
        if known is None:
            return Claims([])
        runs = self._take_unplanned(slots) if tries_unplanned else []
        return Claims(runs) if runs else self._take_in_windows(slots, known)

    def _take_unplanned(self, slots: int) -> list[Run]:
        """Empty where the line, as far as is known, has to be planned, and where there is nothing in it."""
        known = self.memory.limits.get(self.queue)
        if known is None or not known.is_plain or self.queue in self.memory.keyed:
            return []
        mine = self.identity.new_claim()
        if self.positions is not None:
            return take_behind(self.positions, slots, mine)
        return take_head(self.queue, slots, mine, self.memory.using)

    def _take_in_windows(self, slots: int, known: QueueLimits) -> Claims:
        reader = self.positions or LineReader(self.queue, self.identity.ready, self.memory.using)
        first = [] if known.paused else reader.asks_first(slots)
        opening = self._open(known, first)
        limits = opening.limits
        if limits is None:  # held, or gone: the next claim, which reads it again, learns that
            self.memory.limits.pop(self.queue, None)
            return Claims([], peer_at_work=known.has_fleet_budget, met_peers=known.has_fleet_budget)
        self.memory.limits[self.queue] = limits
        if limits.paused:
            return Claims([])
        if not limits.opens_like(known):
            return self._take_in_windows(slots, limits)
        if first:
            reader.take_first(opening.first)
        return self._plan(reader, self._meter(limits, slots, opening))

    def _open(self, known: QueueLimits, first: Sequence[database.Asked]) -> Opening:
        counted = counted_from(self.queue, self.identity.executor, self.oldest)
        return open_queue(self.queue, known, counted, first, self.memory.using, patience=self.patience)

    def _meter(self, limits: QueueLimits, slots: int, opening: Opening) -> Meter:
        return Meter(
            self.queue,
            limits,
            slots,
            executor=self.identity.executor,
            using=self.memory.using,
            oldest=self.oldest,
            in_flight=opening.in_flight,
        )

    def _plan(self, reader: Reader, meter: Meter) -> Claims:
        yields = self.queue not in self.memory.yielded
        claims = WindowedClaim(reader, meter, self.identity, yields=yields).take()
        in_vain = claims.peer_at_work and not claims.runs
        self.memory.note_claim(self.queue, yields=in_vain, keyed=bool(meter.usage.keys))
        return claims
