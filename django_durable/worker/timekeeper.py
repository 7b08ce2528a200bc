"""What is due by the clock, done when its time comes; one question for all kinds of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from django_durable.instrument import Span, report
from django_durable.maintenance.deadlines import Deadlines
from django_durable.maintenance.promoter import Promoter
from django_durable.maintenance.waker import Waker
from django_durable.models import database
from django_durable.worker.polling.patience import Patience
from django_durable.worker.service import Duty

LONGEST_REST = 1.0
HELD_ELSEWHERE = 0.1  # seconds until rows that a peer is at are looked at again


class Due(NamedTuple):
    """Seconds until the next of each kind; None where there is none."""

    promotion: float | None
    deadline: float | None
    expiry: float | None
    waking: float | None


class Timekeeper(Duty):
    """Puts delayed and woken runs in line, ends overdue ones; woken when an earlier instant may be there."""

    name = "timekeeper"

    def __init__(self, using: str) -> None:
        self.using = using
        self.promoter = Promoter(using)
        self.deadlines = Deadlines(using)
        self.waker = Waker(using)
        self.on_work: Callable[[], None] = lambda: None
        self.wake: Callable[[], None] = lambda: None
        self._patience = Patience()
        self._punctuality = Patience()
        self._is_noticed = False
        self._looks_at = 0.0

    def among(self, workers: int) -> None:
        """So many look at what is due, this one too."""
        self._patience.among(workers)
        self._punctuality.among(workers)

    def notice(self) -> None:
        """An earlier instant may be there; all workers hear of it at once."""
        self._is_noticed = True
        self.wake()

    def tick(self) -> float:
        now = time.monotonic()
        rest = self._put_off(now)
        if rest <= 0:
            self._patience.answer(now)
            self._punctuality.answer(now)
            rest = self._look()
            self._looks_at = time.monotonic() + rest
        return rest

    def _put_off(self, now: float) -> float:
        """Seconds that a notice has to wait; 0: it is time to look, whatever it is that woke it."""
        if not self._is_noticed:
            return 0.0
        self._is_noticed = False
        self._patience.begin(now)
        return min(self._patience.ends_at, self._looks_at) - now

    def _look(self) -> float:
        due = self.next_due()
        overdue = [seconds for seconds in due if seconds is not None and seconds <= 0]
        if not overdue:
            return self._until_due(min((seconds for seconds in due if seconds is not None), default=math.inf))
        self._patience.found()
        done = self._into_line(due)
        if _is_past(due.deadline) or _is_past(due.expiry):
            done += self._end_overdue()
        if done:
            self._punctuality.found()
        return 0.0 if done else HELD_ELSEWHERE + self._punctuality.between(0.0, self._punctuality.length)

    def _until_due(self, seconds: float) -> float:
        """All know the instant: who came to one in vain, as another was there, comes later to the next."""
        if seconds >= LONGEST_REST:
            self._punctuality.ends_at = math.inf
            return LONGEST_REST
        now = time.monotonic()
        self._punctuality.begin_at(now + seconds)
        return self._punctuality.ends_at - now

    def next_due(self) -> Due:
        (row,) = database.fetch("next_due", {}, self.using)
        return Due(*row)

    def _into_line(self, due: Due) -> int:
        done = self.promoter.run_once().queues.total() if _is_past(due.promotion) else 0
        done += self.waker.run_once().queues.total() if _is_past(due.waking) else 0
        if done:
            self.on_work()
        return done

    def _end_overdue(self) -> int:
        ended = self.deadlines.run_once()
        if ended.timed_out:
            self.on_work()  # what they took of limits is free
        if ended.total:
            facts = {"timed_out": len(ended.timed_out), "expired": len(ended.expired)}
            report(Span("deadlines", facts))
        return ended.total


def _is_past(seconds: float | None) -> bool:
    return seconds is not None and seconds <= 0
