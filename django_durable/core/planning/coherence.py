"""What is wrong with limits that do not fit together, in words, by the column it is wrong in."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from django_durable.core.durations import in_words
from django_durable.core.options import LONGEST
from django_durable.core.planning.budget import QueueLimits

MICROSECOND = timedelta(microseconds=1)
Faults = dict[str, str]
WITHIN = (  # the limit of a part, and the limit of the whole that it cannot be above
    ("worker_concurrency", "concurrency"),
    ("partition_concurrency", "concurrency"),
    ("partition_worker_concurrency", "concurrency"),
    ("partition_worker_concurrency", "partition_concurrency"),
    ("partition_worker_concurrency", "worker_concurrency"),
)


class Rate(NamedTuple):
    """So many starts within each sliding period."""

    limit: int
    period: timedelta

    def __str__(self) -> str:
        return f"{self.limit} in {in_words(self.period)}"

    def is_above(self, other: Rate) -> bool:
        """Compared in whole numbers, so that equal rates of unlike periods are equal."""
        return self.limit * (other.period // MICROSECOND) > other.limit * (self.period // MICROSECOND)


def faults_of_queue(limits: QueueLimits) -> Faults:
    """One fault a column at most; none: the limits can be met together."""
    exceeding: Faults = {}
    for part, whole in WITHIN:
        if fault := _exceeds(part, getattr(limits, part), whole, getattr(limits, whole)):
            exceeding.setdefault(part, fault)
    return {
        **exceeding,
        **_partition_rate_above_queue_rate(limits),
        **_faults_of_rate("rate_limit", limits.rate_limit, "rate_period", limits.rate_period),
        **_faults_of_rate(
            "partition_rate_limit",
            limits.partition_rate_limit,
            "partition_rate_period",
            limits.partition_rate_period,
        ),
    }


def faults_of_limit(max_running: int | None, max_starts: int | None, window: timedelta | None) -> Faults:
    """The same of the limit of a key; it has to limit something."""
    if max_running is None and max_starts is None and window is None:
        return {"max_running": "Give max running, or max starts with a window, or both."}
    if (max_starts is None) != (window is None):
        missing = "window" if window is None else "max_starts"
        return {missing: "A rate needs both: max starts, and the window in which they are counted."}
    fault = None if window is None else fault_of_period(window)
    return {} if fault is None else {"window": f"The window {fault}."}


def fault_of_period(period: timedelta) -> str | None:
    """What is wrong with the sliding window of a rate: PostgreSQL has to count back from now by it."""
    if period <= timedelta(0):
        return "must be longer than nothing"
    return None if period <= LONGEST else f"must be at most {LONGEST.days} days long"


def _exceeds(name: str, value: int | None, bound_name: str, bound: int | None) -> str | None:
    if value is None or bound is None or value <= bound:
        return None
    words, bound_words = name.replace("_", " "), bound_name.replace("_", " ")
    return f"The {words} ({value}) cannot be above the {bound_words} ({bound})."


def _faults_of_rate(name: str, limit: int | None, period_name: str, period: timedelta | None) -> Faults:
    if (limit is None) != (period is None):
        missing = period_name if period is None else name
        return {missing: f"A rate needs both a limit and a period; give the {missing.replace('_', ' ')} too."}
    fault = None if period is None else fault_of_period(period)
    return {} if fault is None else {period_name: f"The {period_name.replace('_', ' ')} {fault}."}


def _partition_rate_above_queue_rate(limits: QueueLimits) -> Faults:
    of_queue = _rate(limits.rate_limit, limits.rate_period)
    of_partition = _rate(limits.partition_rate_limit, limits.partition_rate_period)
    if of_queue is None or of_partition is None or not of_partition.is_above(of_queue):
        return {}
    told = f"The rate of a partition ({of_partition}) cannot be above the rate of its queue ({of_queue})."
    return {"partition_rate_limit": told}


def _rate(limit: int | None, period: timedelta | None) -> Rate | None:
    return Rate(limit, period) if limit and period else None
