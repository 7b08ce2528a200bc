"""Limits that do not fit together are told in words, by the column that is wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_durable.core.planning.budget import QueueLimits
from django_durable.core.planning.coherence import Rate, faults_of_limit, faults_of_queue

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"worker_concurrency": 5},
        {"concurrency": 5, "worker_concurrency": 5, "partition_concurrency": 5},
        {"concurrency": 1, "partition_rate_limit": 50, "partition_rate_period": SECOND},
        {"rate_limit": 1, "rate_period": SECOND, "partition_rate_limit": 60, "partition_rate_period": MINUTE},
        {"rate_limit": 10, "rate_period": SECOND, "partition_rate_limit": 100, "partition_rate_period": HOUR},
    ],
    ids=str,
)
def test_limits_that_can_be_met_together_are_left_alone(limits):
    assert faults_of_queue(QueueLimits(**limits)) == {}


@pytest.mark.parametrize(
    ("limits", "at", "words"),
    [
        (
            {"concurrency": 2, "worker_concurrency": 3},
            "worker_concurrency",
            "The worker concurrency (3) cannot be above the concurrency (2).",
        ),
        (
            {"concurrency": 2, "partition_concurrency": 3},
            "partition_concurrency",
            "The partition concurrency (3) cannot be above the concurrency (2).",
        ),
        (
            {"partition_concurrency": 2, "partition_worker_concurrency": 3},
            "partition_worker_concurrency",
            "The partition worker concurrency (3) cannot be above the partition concurrency (2).",
        ),
        (
            {"worker_concurrency": 2, "partition_worker_concurrency": 3},
            "partition_worker_concurrency",
            "The partition worker concurrency (3) cannot be above the worker concurrency (2).",
        ),
        (
            {"concurrency": 2, "partition_worker_concurrency": 3},
            "partition_worker_concurrency",
            "The partition worker concurrency (3) cannot be above the concurrency (2).",
        ),
        (
            {"rate_limit": 5},
            "rate_period",
            "A rate needs both a limit and a period; give the rate period too.",
        ),
        (
            {"partition_rate_period": MINUTE},
            "partition_rate_limit",
            "A rate needs both a limit and a period; give the partition rate limit too.",
        ),
        (
            {"rate_limit": 5, "rate_period": timedelta(0)},
            "rate_period",
            "The rate period must be longer than nothing.",
        ),
        (
            {"rate_limit": 2**31 - 1, "rate_period": timedelta.max, "partition_rate_limit": 1}
            | {"partition_rate_period": timedelta.max},
            "partition_rate_period",
            "The partition rate period must be at most 36525 days long.",
        ),
        (
            {"rate_limit": 1, "rate_period": SECOND}
            | {"partition_rate_limit": 100, "partition_rate_period": MINUTE},
            "partition_rate_limit",
            "The rate of a partition (100 in 1 min) cannot be above the rate of its queue (1 in 1 s).",
        ),
    ],
    ids=str,
)
def test_limits_that_cannot_are_told(limits, at, words):
    assert faults_of_queue(QueueLimits(**limits))[at] == words


def test_equal_rates_of_unlike_periods_are_equal():
    """Divided, each of these pairs differs in the last bit."""
    for limit, length, other, period in ((1, 0.3, 3, 0.9), (1, 0.3, 7, 2.1), (1, 0.6, 3, 1.8)):
        one, two = Rate(limit, timedelta(seconds=length)), Rate(other, timedelta(seconds=period))
        assert not one.is_above(two)
        assert not two.is_above(one)
    assert Rate(101, MINUTE).is_above(Rate(100, MINUTE))


@pytest.mark.parametrize(
    ("limit", "at"),
    [
        ((None, None, None), "max_running"),
        ((None, 5, None), "window"),
        ((3, None, MINUTE), "max_starts"),
        ((None, 5, timedelta(0)), "window"),
        ((None, 5, timedelta(days=36_526)), "window"),
        ((3, 5, MINUTE), None),
        ((3, None, None), None),
    ],
    ids=str,
)
def test_the_limit_of_a_key_limits_something_and_whole(limit, at):
    assert list(faults_of_limit(*limit)) == ([] if at is None else [at])
