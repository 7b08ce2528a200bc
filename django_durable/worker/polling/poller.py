"""Claims for the free slots: one thread and one connection ask for all queues of the process together.

Each queue is asked at its own interval, all that are due in one question. A notice is answered soon; while
work is found the poller is hot: it asks every 20 ms until nothing was found for 250 ms. A queue whose last
claim filled the free slots is claimed from again, unasked, as soon as some slots are free, or one for a
moment; it is asked for once an interval nevertheless, and when a run wakes, which goes before its line.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from django_durable.claim.claimer import Claimer
from django_durable.core.run import Run
from django_durable.models.outage import is_read_only, tells_of_the_line
from django_durable.worker.lease.heartbeat import Heartbeat
from django_durable.worker.polling.asked import Asked
from django_durable.worker.polling.bell import Bell
from django_durable.worker.polling.cadence import SOON
from django_durable.worker.polling.heat import HOT, Heat
from django_durable.worker.polling.kept_claimer import KeptClaimer
from django_durable.worker.polling.queue_set import QueueSet
from django_durable.worker.polling.strays import Strays
from django_durable.worker.service import Duty
from django_durable.worker.slots.pool import Pool
from django_durable.worker.trouble import sqlstate

SHORTEST = 0.005
GATHER = 0.005  # seconds for more slots to become free: a claim of many costs little more than a claim of one
ENOUGH = 5  # one slot in so many is not waited for any longer
JITTER = 0.05
LEARN_WAKES = 1.0  # seconds: less than the shortest wait in the table


class Look(NamedTuple):
    """The last look at all queues that was asked for: which one, and whether there was anything to do."""

    number: int
    found: bool


class Poller(Duty):
    """Asks, claims, dispatches. The other methods only say what changed, from any thread."""

    name = "poller"

    def __init__(self, queue_set: QueueSet, pool: Pool, heartbeat: Heartbeat, using: str) -> None:
        self.queue_set = queue_set
        self.pool = pool
        self.heartbeat = heartbeat
        self.wake: Callable[[], None] = lambda: None
        self.give_back: Callable[[list[Run]], None] = lambda runs: None
        self.may_begin: Callable[[], bool] = lambda: True
        self.last_look = Look(0, True)
        self._queues: dict[str, Asked] = {}
        self._order: deque[str] = deque()
        self._claimer = KeptClaimer(using)
        self._strays = Strays(using)
        self._wakes_at = math.inf
        self._heat = Heat()
        self._wanted_look = 0
        self._notices = Bell()
        self._is_short_of_slots = False
        self._is_gathering = False
        self._is_closed = False

    def among(self, workers: int) -> None:
        """So many ask for work, this one too."""
        self._heat.among(workers)

    def notice(self) -> None:
        """Something may be ready."""
        self._notices.ring()
        self.wake()

    def slot_freed(self) -> None:
        if self._is_short_of_slots and not (self._is_gathering and self._has_few_slots):
            self._is_short_of_slots = False
            self.wake()

    def run_ended(self, queue: str, limit_key: str | None) -> None:
        """What it took of limits is free again: in its queue, and for its key in others too."""
        asked = self._queues.get(queue)
        waiting = [] if asked is None or not asked.is_limited else [asked]
        if limit_key is not None:
            waiting += [other for other in list(self._queues.values()) if other.waits_for_key(limit_key)]
        for asked in waiting:
            asked.is_limited, asked.is_hungry = False, True
        if waiting:
            self.wake()

    def run_waits(self) -> None:
        """A run went to wait in the table; when it wakes is learned from there, once for all that do."""
        learn_at = time.monotonic() + LEARN_WAKES
        if learn_at < self._wakes_at:
            self._wakes_at = learn_at
            self.wake()

    def look(self) -> int:
        """Ask for every queue now, due or not; `last_look` gets the number returned here."""
        self._wanted_look += 1
        self.wake()
        return self._wanted_look

    def close(self) -> None:
        """Claim no more."""
        self._is_closed = True

    def tick(self) -> float:
        executor = self.heartbeat.executor
        if self._is_closed or executor is None:
            return math.inf
        if not self.may_begin():
            return SOON
        self._is_short_of_slots = True  # before looking: a slot that frees meanwhile must wake
        if self.pool.free_slots <= 0:
            return math.inf
        self._is_gathering = not self._is_gathering and self._has_few_slots and self._is_hungry
        if self._is_gathering:
            return GATHER
        wanted = self._wanted_look
        is_look = wanted > self.last_look.number and self.queue_set.is_read
        self._follow_queue_set()
        self._dispatch(self._strays.look(executor, self.pool.owned))
        claimer = self._claimer.of(executor)
        found = self._serve(self._with_work(is_look, claimer), claimer)
        if is_look:
            self.last_look = Look(wanted, found or self._is_hungry)
        return self._rest()

    @property
    def _has_few_slots(self) -> bool:
        return self.pool.free_slots < self.pool.slots // ENOUGH

    @property
    def _is_hungry(self) -> bool:
        return any(asked.is_hungry for asked in self._queues.values())

    def _follow_queue_set(self) -> None:
        served = self.queue_set.queues
        for name in self._queues.keys() - served.keys():
            del self._queues[name]
            self._order.remove(name)
        for name, queue in served.items():
            if name in self._queues:
                self._queues[name].follow(queue)
            else:
                self._queues[name] = Asked(queue)
                self._order.append(name)

    def _with_work(self, is_look: bool, claimer: Claimer) -> list[Asked]:
        """The queues to claim from, in turn; one question for all that are due and not known to have work."""
        now = time.monotonic()
        jitter = _jitter()
        names = self._to_ask(now, is_look)
        ready = set(self._ask(names, claimer)) if names else set()
        for name in names:
            if name not in ready:
                self._queues[name].was_empty(now, jitter)  # the same for all: they stay together
                self._queues[name].tell("")
        return [self._queues[name] for name in self._order if name in ready or self._queues[name].is_hungry]

    def _to_ask(self, now: float, is_look: bool) -> list[str]:
        is_noticed = self._is_noticed(now)
        asks_busy = is_noticed or self._heat.asks_again(now)
        some = any(asked.is_asked(now, is_look or is_noticed, asks_busy) for asked in self._queues.values())
        names = self._queues.items() if some else ()
        return [name for name, asked in names if asked.goes_along(now, is_look or is_noticed, asks_busy)]

    def _is_noticed(self, now: float) -> bool:
        """Under load notices never end: queues that are hungry are asked for at some of them."""
        if self._notices.wait(0) or self._is_wake_due(now):
            self._heat.noticed(now)
        if not self._heat.answers(now):
            return False
        for asked in self._queues.values():
            asked.overdue = min(asked.overdue, asked.asked_at + HOT)
        return True

    def _is_wake_due(self, now: float) -> bool:
        """Whether a waiting run wakes now: it is not told of which queue."""
        if now < self._wakes_at:
            return False
        self._wakes_at = math.inf
        for asked in self._queues.values():
            asked.overdue = now
        return True

    def _ask(self, names: Sequence[str], claimer: Claimer) -> list[str]:
        """A run that is due is claimed now, or may not be: then it waits for an end or its queue's turn."""
        found = claimer.queues_with_work(names)
        now = time.monotonic()
        for name in names:
            self._queues[name].was_asked(now)
        if claimer.wakes:
            self._wakes_at = min(self._wakes_at, now + max(min(claimer.wakes.values()), SHORTEST))
        return found

    def _serve(self, with_work: list[Asked], claimer: Claimer) -> bool:
        """Claim from each, the free slots divided among those that are left; whether anything was there."""
        found = False
        for position, asked in enumerate(with_work):
            free = self._room(asked, len(with_work) - position)
            if self._is_closed or free <= 0:
                continue
            found |= self._claim(asked, free, claimer)
        return found

    def _room(self, asked: Asked, sharers: int) -> int:
        free = self.pool.free_slots
        if free <= 0:
            asked.is_hungry = True
            return 0
        share = math.ceil(free / sharers)
        most = asked.queue.worker_concurrency
        left = share if most is None else min(share, most - self.pool.tally.in_queue(asked.queue.name))
        if left <= 0:
            asked.is_full_here(time.monotonic(), _jitter())
        return left

    def _claim(self, asked: Asked, slots: int, claimer: Claimer) -> bool:
        began = time.monotonic()
        try:
            claims = claimer.claim(asked.queue.name, slots)
        except Exception as error:
            if sqlstate(error) is None or tells_of_the_line(
                error
            ):  # the server did not say that it is undone
                self._strays.note_lost_answer()
            if tells_of_the_line(error) or is_read_only(error):
                raise
            return asked.failed(error, time.monotonic(), _jitter())
        self._dispatch(claims.runs)
        now = time.monotonic()
        if claims.peer_at_work and not claims.runs:
            asked.met_a_peer(now)
            return True
        asked.was_claimed(claims, slots, now, _jitter())
        self._note_next_room(asked, began, claimer)
        if claims.runs:
            self._heat.found(now)
            self._order.remove(asked.queue.name)
            self._order.append(asked.queue.name)
        return bool(claims.runs)

    def _note_next_room(self, asked: Asked, began: float, claimer: Claimer) -> None:
        if asked.stopped_by is None:
            return
        ago = time.monotonic() - began
        seconds = claimer.seconds_to_room(asked.queue.name, asked.stopped_by, ago)
        if seconds is not None:
            asked.has_room_at(time.monotonic() + max(seconds, SHORTEST))

    def _dispatch(self, runs: list[Run]) -> None:
        refused = [run for run in runs if not self.pool.submit(run)]
        if refused:
            self.give_back(refused)

    def _rest(self) -> float:
        now = time.monotonic()
        if self.pool.free_slots <= 0:
            return math.inf
        if self._is_hungry:
            return 0.0
        self._is_short_of_slots = False
        next_due = min((asked.due for asked in self._queues.values()), default=math.inf)
        next_due = min(next_due, self._wakes_at, self._strays.due, self._heat.next_at(now))
        return max(0.0, next_due - now)


def _jitter() -> float:
    return random.uniform(1 - JITTER, 1 + JITTER)
