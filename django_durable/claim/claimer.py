"""Claims of one process: which queues have work, and what it takes of each, one claim at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import UUID

from django.db import OperationalError
from psycopg.errors import LockNotAvailable

from django_durable.claim import question
from django_durable.claim.attempt import Attempt
from django_durable.claim.contention import PATIENCE, Contention
from django_durable.claim.cursors import Cursors
from django_durable.claim.identity import Identity
from django_durable.claim.memory import Memory
from django_durable.claim.numbers import Numbers
from django_durable.claim.positioned import PositionedReader
from django_durable.claim.rates import seconds_to_room
from django_durable.claim.windowed import Claims
from django_durable.core.planning.budget import QueueLimits
from django_durable.core.planning.oldest import Oldest
from django_durable.core.planning.stops import StoppedBy
from django_durable.instrument import instrument

__all__ = ["Claimer", "Claims"]


class Claimer:
    """Claims on behalf of one executor, each time in a transaction of its own."""

    def __init__(self, executor_id: UUID, using: str) -> None:
        self._identity = Identity.of(executor_id, using)
        self.using = using
        self.cursors = Cursors(using)
        self.contention = Contention()
        self.numbers = Numbers(using)
        self.memory = Memory(using)

    @property
    def identity(self) -> Identity:
        return self._identity

    @identity.setter
    def identity(self, identity: Identity) -> None:
        """Positions passed over what could not be started; where other rows can, they begin from nothing."""
        if identity.ready != self._identity.ready:
            self.cursors.forget()
        self._identity = identity

    @property
    def wakes(self) -> dict[str, float]:
        """In how many seconds the next run of a queue wakes, as the last look found."""
        return self.memory.wakes

    def claim(self, queue: str, slots: int) -> Claims:
        """Take up to `slots` runs; raises InsideTransaction's kin (RuntimeError) inside an outer atomic()."""
        with instrument("claim", queue=queue, slots=slots) as facts:
            claims = self._claim_among_peers(queue, slots) if slots > 0 else Claims([])
            facts["claimed"] = len(claims.runs)
            facts["peer_at_work"] = claims.peer_at_work
        return claims

    def queues_with_work(self, queues: Sequence[str]) -> list[str]:
        """Those of the queues that have a row this process may start; `wakes` says when the next wake."""
        answer = question.ask(queues, self.identity.ready, self.cursors, self.using)
        self.memory.limits.update(answer.in_line)
        woken = self.memory.note_wakes(queues, answer.wakes)
        found = woken | answer.in_line.keys() | answer.behind_positions
        with_work = [queue for queue in queues if queue in found]
        if any(self.memory.counts(queue) for queue in with_work):
            self.numbers.look()  # when it is due: rather now than within a claim
        return with_work

    def seconds_to_room(self, queue: str, stopped: StoppedBy, ago: float) -> float | None:
        """Until a rate that stopped its claim, begun so many seconds ago, has room; None: no rate did."""
        limits = self.memory.limits.get(queue, QueueLimits())
        return seconds_to_room(queue, limits, stopped, ago, self.using)

    def _claim_among_peers(self, queue: str, slots: int) -> Claims:
        patience = PATIENCE if self.contention.waits(queue) else None
        try:
            claims = self._claim_once(queue, slots, patience)
        except OperationalError as error:
            if patience is None or not isinstance(error.__cause__, LockNotAvailable):
                raise
            self.contention.waited_in_vain(queue)
            claims = self._claim_once(queue, slots, None)
        if claims.met_peers:
            self.contention.met_peers(queue)
        return claims

    def _claim_once(self, queue: str, slots: int, patience: float | None) -> Claims:
        positions = self._behind_positions(queue)
        attempt = Attempt(
            queue=queue,
            identity=self.identity,
            memory=self.memory,
            positions=positions,
            oldest=self.numbers.look() if self.memory.counts(queue) else Oldest(),
            patience=patience,
        )
        started = time.monotonic()
        claims = attempt.take(slots)
        if attempt.patience is None:  # else the time is that of the wait
            note = self.cursors.note_cold if positions is None else self.cursors.note_warm
            note(queue, time.monotonic() - started)
        if positions is not None:
            positions.rise(run.id for run in claims.runs)
        if self.memory.is_paused(queue):
            self.cursors.forget(queue)
        return claims

    def _behind_positions(self, queue: str) -> PositionedReader | None:
        """The reader of the line where positions are kept for it; None: it is read from its head."""
        if not self.cursors.engages(queue):
            return None
        limits = self.memory.of(queue)
        known = self.cursors.positions(queue, limits) if limits is not None else None
        return PositionedReader(queue, self.identity.ready, self.using, known) if known is not None else None
