"""In which order an async body is given what its calls gave: at a replay in the order of the first time.

Recorded calls could all answer at once, and which branch came first would be another question each time. So
each waits for those that had ended before it. Between two, whoever waits for the first comes to act on it, in
the first execution as at a replay. A call without a record comes after all that have one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from django_durable.engine.execution.numbering import Numbering
from django_durable.engine.execution.recorded import Recorded

TURNS = 24  # of the event loop, in which the branches that wait for a call come to their next ones
PATIENCE = 0.1  # seconds for a call to be made that had ended earlier: its branch may be at work meanwhile
LAST = 1 << 62
STARTS = "durable.enqueue"
TIMERS = ("durable.recv.timer", "durable.get_event.timer", "durable.result.timer")
SLEEP = "durable.sleep"
NEAR = 0.001  # seconds by which a float of the epoch may miss its instant, and more


class Waiter(NamedTuple):
    place: int
    arrival: int
    is_next: asyncio.Future[None]


class Deliveries:
    """The places of the recorded calls of one execution, and who waits for its turn; of the loop alone."""

    def __init__(self, history: Mapping[int, Recorded], numbering: Numbering) -> None:
        ended = sorted(filter(_has_ended, history.values()), key=lambda row: (row.completed_at, row.step))
        self._places = {row.step: place for place, row in enumerate(ended)}
        self._starts = {row.step for row in ended if row.name == STARTS and row.error is None}
        self._left = dict.fromkeys(range(len(ended)))  # in order, those that were not given yet
        self._numbering = numbering
        self._waiters: list[Waiter] = []
        self._to_be_given_up: set[int] = set()
        self._arrivals = count()
        self._is_turning = False
        self._patience: asyncio.TimerHandle | None = None

    def has(self, number: int) -> bool:
        """Whether the call is recorded as one that has ended."""
        return number in self._places

    def place_of(self, numbers: Sequence[int]) -> int:
        """Of the call that took these numbers, which is made now."""
        places = sorted(self._places[number] for number in numbers if number in self._places)
        only_started = len(numbers) > 1 and numbers[0] in self._starts and numbers[1] not in self._places
        own = LAST if only_started or not places else places.pop()
        for place in places:
            self._left.pop(place, None)
        return own

    @contextmanager
    def until_given_up(self, place: int) -> Iterator[None]:
        """Whatever ended later waits as long as it takes within the block for a call to be given up again."""
        self._to_be_given_up.add(place)
        try:
            yield
        finally:
            self._to_be_given_up.discard(place)
            self._left.pop(place, None)
            self._look_again()

    async def turn(self, place: int = LAST) -> None:
        """Return once all that had ended before was given to the body."""
        if not self._numbering.body.tasks:  # one thing after the other
            self._left.pop(place, None)
            return
        if place == LAST and not self._is_turning and not self._waiters and not self._left:
            self._look_again()
            return
        waiter = Waiter(place, next(self._arrivals), asyncio.get_running_loop().create_future())
        heappush(self._waiters, waiter)
        self._look_again()
        try:
            await waiter.is_next
        finally:
            self._left.pop(place, None)

    @property
    def _first_left(self) -> int:
        return next(iter(self._left), LAST)

    def _look_again(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if not self._is_turning:
            self._is_turning = True
            asyncio.get_running_loop().call_soon(self._go_round, TURNS)

    def _go_round(self, turns: int) -> None:
        loop = asyncio.get_running_loop()
        if turns:
            loop.call_soon(self._go_round, turns - 1)
            return
        self._is_turning = False
        while self._waiters and self._waiters[0].is_next.done():  # it was cancelled
            heappop(self._waiters)
        if not self._waiters:
            return
        if self._first_left < self._waiters[0].place:
            if self._first_left not in self._to_be_given_up:
                self._patience = loop.call_later(PATIENCE, self._pass_over)
            return
        heappop(self._waiters).is_next.set_result(None)
        self._look_again()

    def _pass_over(self) -> None:
        """What is not called again as the first time, by other code for example."""
        self._patience = None
        first = self._waiters[0].place
        self._left = dict.fromkeys(
            place for place in self._left if place >= first or place in self._to_be_given_up
        )
        self._look_again()


def _has_ended(row: Recorded) -> bool:
    """A sleep is recorded when it begins, and its row is touched again at its end."""
    if row.step < 0 or row.name in TIMERS:
        return False
    if row.name != SLEEP:
        return True
    return row.completed_at.timestamp() >= float(row.output or 0) - NEAR
