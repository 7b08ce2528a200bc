"""The positions of one process in the lines of one database: when to trust them, and when to read all again.

While any transaction holds the xmin horizon, claimed rows stay in the indexes of the line, and a claim that
reads from the head walks them all. Positions let it not walk. They are kept for a queue once reading it cost
more than a few milliseconds some times in a row (CURSORS "auto"), or always, or never.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict

from django.db import connections

from django_durable.claim.tail import TAILS, Answers, Tail
from django_durable.conf import settings
from django_durable.core.planning.budget import QueueLimits
from django_durable.core.planning.positions import WHOLE_LINE, Arrival, Positions
from django_durable.instrument import instrument
from django_durable.models import database

COSTLY = 0.003  # seconds of reading from which on positions pay for their upkeep
MOST_PLACES = 20_000  # groups and ranks of one queue; beyond, one full pass costs a third of a second
SLOW_READS = 3  # in a row: one alone may be the machine's
REFUSAL = 60.0  # seconds after which positions may be tried again where they did not pay
LOOK_SERVES = 0.02  # seconds: the question which queues have work, and the first claim after it
JITTER = 0.25  # downwards only: the interval stays a bound, and a fleet does not read in step
PASSES_SPARED = 30  # by an exact tail, which leaves a full pass nothing to find but what was edited by hand


class Cursors:
    """One claimer's; nothing here outlives its connection."""

    def __init__(self, using: str) -> None:
        self.using = using
        self.tail: Tail = TAILS[settings().tail](using)
        self._positions: dict[str, Positions] = {}
        self._due: dict[str, float] = {}
        self._engagement = Engagement()
        self._connection: object = None
        self._looked: dict[str, float] = {}  # when, for queues whose next claim may do with that look

    def engages(self, queue: str) -> bool:
        """Whether to read this queue behind positions; no tail sees what a caller's own transaction wrote."""
        return not connections[self.using].in_atomic_block and self._engagement.includes(queue)

    def knows(self, queue: str) -> bool:
        return queue in self._positions

    def note_cold(self, queue: str, seconds: float, what: str = "claim") -> None:
        """Note what a read from the head cost: that of a claim, or the question which queues have work."""
        self._engagement.note_cold(queue, seconds, what)

    def note_warm(self, queue: str, seconds: float) -> None:
        """Note what a read behind positions cost."""
        if self._engagement.note_warm(queue, seconds):
            self.forget(queue)

    def asked(self) -> list[database.Asked]:
        """What a look asks: the tail, once for all queues; nothing where no position is kept."""
        self._forget_other_connection()
        return self.tail.asked() if self._positions else []

    def look(self, answers: Answers) -> set[str]:
        """Take in what was answered to `asked`; names those that may have rows or are due for a full pass.

        The first claim of each that begins at once does with this look: what arrives meanwhile is not for it.
        """
        if self._positions:
            arrivals = self.tail.take(answers)
            if arrivals is None:
                self.forget()
            else:
                self._fold(arrivals)
            self._looked = dict.fromkeys(self._positions, time.monotonic())
        return {queue for queue, known in self._positions.items() if len(known) or self._is_due(queue)}

    def positions(self, queue: str, limits: QueueLimits) -> Positions | None:
        """Where to read the queue from, after a full pass if one is due; None: from the head.

        While a queue is paused, no place in it.
        """
        self._look_unless_just_done(queue)
        by_group = limits.any_keys or not limits.is_plain
        if limits.paused and self._is_still_paused(queue):
            return Positions((), by_group=by_group)
        known = self._positions.get(queue)
        if known is None or self._is_due(queue) or (by_group and not known.by_group):
            known = self._full_pass(queue, by_group)
        if known is not None:
            known.fair = limits.fair
        return known

    def forget(self, queue: str | None = None) -> None:
        """Let the next claim of this queue, or of all, begin with a full pass."""
        for name in [queue] if queue is not None else list(self._positions):
            self._positions.pop(name, None)
            self.tail.stop(name)

    def _look_unless_just_done(self, queue: str) -> None:
        self._forget_other_connection()
        if time.monotonic() - self._looked.pop(queue, -LOOK_SERVES) >= LOOK_SERVES:
            asked = self.asked()
            self.look(database.fetch_all(asked, self.using) if asked else [])
            self._looked.pop(queue, None)

    def _full_pass(self, queue: str, by_group: bool) -> Positions | None:
        """From nothing, as they were lost or are due; what this could find is said with the positions."""
        if not self.tail.start(queue):
            self.forget(queue)
            return None
        try:
            with instrument("claim.full_pass", queue=queue) as facts:
                found = self._walk_places(queue) if by_group else self._walk_ranks(queue)
                facts["places"] = len(found)
        except BaseException:
            self.forget(queue)  # or the tail would go on, on whatever connection, from the moment noted above
            raise
        if len(found) > MOST_PLACES:
            self._engagement.refuse(queue)
            self.forget(queue)
            return None
        self._due[queue] = time.monotonic() + self._interval()
        self._positions[queue] = Positions(found, by_group=by_group)
        return self._positions[queue]

    def _interval(self) -> float:
        """A row passed over for its version may fit later, without a new stamp: the next pass finds it."""
        spared = PASSES_SPARED if self.tail.is_exact and settings().app_version is None else 1
        return settings().full_discovery_interval * spared * (1 - random.random() * JITTER)

    def _is_still_paused(self, queue: str) -> bool:
        rows = database.fetch("read_queue", {"queue": queue}, self.using)
        return not rows or QueueLimits(*rows[0]).paused

    def _walk_places(self, queue: str) -> list[Arrival]:
        params = {"queue": queue, "most": MOST_PLACES + 1}
        return [Arrival(queue, *row) for row in database.fetch("walk_places", params, self.using)]

    def _walk_ranks(self, queue: str) -> list[Arrival]:
        rows = database.fetch("walk_ranks", {"queue": queue}, self.using)
        return [Arrival(queue, WHOLE_LINE, rank, line) for rank, line in rows]

    def _fold(self, arrivals: list[Arrival]) -> None:
        by_queue = defaultdict(list)
        for arrival in arrivals:
            by_queue[arrival.queue].append(arrival)
        for queue in by_queue.keys() & self._positions.keys():
            self._positions[queue].fold(by_queue[queue])

    def _is_due(self, queue: str) -> bool:
        return time.monotonic() >= self._due.get(queue, 0.0)

    def _forget_other_connection(self) -> None:
        connection = connections[self.using].connection
        if connection is not self._connection:
            self.forget()
            self._connection = connection


class Engagement:
    """Which queues are worth positions: those that are slow to read from the head, and faster behind them."""

    def __init__(self) -> None:
        self._slow: dict[tuple[str, str], list[float]] = {}  # the costs of slow reads of a kind in a row
        self._cold: dict[str, float] = {}
        self._worse: dict[str, int] = {}
        self._refused_until: dict[str, float] = {}

    def includes(self, queue: str) -> bool:
        mode = settings().cursors
        if mode == "always":
            return time.monotonic() >= self._refused_until.get(queue, 0.0)
        return mode == "auto" and queue in self._cold

    def note_cold(self, queue: str, seconds: float, what: str = "claim") -> None:
        if seconds <= COSTLY or time.monotonic() < self._refused_until.get(queue, 0.0):
            self._slow.pop((queue, what), None)
            return
        slow = self._slow.setdefault((queue, what), [])
        slow.append(seconds)
        if len(slow) >= SLOW_READS:
            self._cold[queue] = min(self._slow.pop((queue, what)))

    def note_warm(self, queue: str, seconds: float) -> bool:
        """True where positions turned out to cost more than they save."""
        if settings().cursors != "auto" or seconds <= self._cold.get(queue, seconds):
            self._worse.pop(queue, None)
            return False
        self._worse[queue] = self._worse.get(queue, 0) + 1
        if self._worse[queue] < SLOW_READS:
            return False
        self.refuse(queue)
        return True

    def refuse(self, queue: str) -> None:
        self._cold.pop(queue, None)
        self._worse.pop(queue, None)
        self._refused_until[queue] = time.monotonic() + REFUSAL
