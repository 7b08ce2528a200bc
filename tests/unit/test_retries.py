"""Delays are finite whatever a policy or its callables say, and a bad policy is refused in words."""

from __future__ import annotations

import dataclasses
import math
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_durable.core.retries import RetryPolicy
from django_durable.exceptions import InvalidOption
from tests.unit.stored import Quiet


def no_chance():
    return 0.0


def steady(**options):
    return RetryPolicy(**{"jitter": 0, **options})


def test_delays_grow_by_the_factor_up_to_the_longest():
    policy = steady(interval=1, backoff=2, max_interval=10)
    assert [policy.delay(attempt) for attempt in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_a_factor_of_one_keeps_the_interval():
    assert steady(interval=3, backoff=1).delay(50) == 3


@pytest.mark.parametrize("attempt", [400, 10_000, 10**9])
def test_a_huge_attempt_number_waits_the_longest(attempt):
    assert steady(interval=10, backoff=10).delay(attempt) == 3600
    assert steady(interval=0, backoff=10).delay(attempt) == 0


def test_an_attempt_number_below_one_counts_as_the_first():
    assert steady(interval=3).delay(0) == steady(interval=3).delay(-5) == 3


def test_intervals_may_be_timedeltas():
    policy = steady(interval=timedelta(minutes=1), max_interval=timedelta(minutes=3))
    assert [policy.delay(1), policy.delay(2), policy.delay(3)] == [60, 120, 180]


def test_jitter_takes_away_a_share_and_adds_none():
    policy = RetryPolicy(interval=100, jitter=0.5)
    assert policy.delay(1, random=no_chance) == 100
    assert policy.delay(1, random=lambda: 0.5) == 75
    assert {50 < policy.delay(1) <= 100 for _ in range(100)} == {True}


class Huge:
    def __call__(self, attempt, error):
        return timedelta.max


@pytest.mark.parametrize(
    ("asked", "delay"),
    [
        (5, 5),
        (0, 0),
        (2.5, 2.5),
        (timedelta(seconds=7), 7),
        (10**400, 3600),
        (1e300, 3600),
        (timedelta.max, 3600),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_callable_says_the_delay_itself(asked, delay):
    assert RetryPolicy(backoff=lambda attempt, error: asked).delay(1, ValueError()) == delay


def test_a_callable_is_told_attempt_and_error():
    told = []
    error = ValueError()

    def backoff(attempt, error):
        told.append((attempt, error))
        return 1

    RetryPolicy(backoff=backoff).delay(3, error)
    assert told == [(3, error)]


NONSENSE = [math.inf, -math.inf, math.nan, -1, -0.1, timedelta(seconds=-1), None, "5", True, [], Quiet()]


@pytest.mark.parametrize("asked", NONSENSE, ids=lambda value: type(value).__name__)
def test_nonsense_from_a_callable_gives_the_default_delay_and_a_note(asked):
    policy = steady(interval=1, backoff=lambda attempt, error: asked)
    error = ValueError()
    assert [policy.delay(1), policy.delay(3, error), policy.delay(3, error)] == [1, 4, 4]
    assert error.__notes__ == ["retried after the default delay, as backoff returned no length of time"]


def test_a_callable_that_raises_gives_the_default_delay_and_a_note():
    policy = steady(backoff=lambda attempt, error: 1 / 0)
    error = ValueError()
    assert policy.delay(2, error) == policy.delay(2) == 2
    assert error.__notes__ == ["retried after the default delay, as backoff raised ZeroDivisionError"]


def test_notes_of_another_kind_are_left_alone():
    error = ValueError()
    vars(error)["__notes__"] = "not a list"
    assert steady(backoff=lambda attempt, error: None).delay(1, error) == 1
    assert vars(error)["__notes__"] == "not a list"


@settings(max_examples=500, deadline=None)
@given(
    attempt=st.integers(-10, 10**6),
    interval=st.floats(0, 3600),
    factor=st.one_of(st.floats(1, 1e308), st.integers(1, 10**400)),
    asked=st.one_of(st.none(), st.floats(), st.integers(), st.timedeltas(), st.text()),
    jitter=st.floats(0, 1),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_every_delay_lies_between_zero_and_the_longest(attempt, interval, factor, asked, jitter, chance):
    for backoff in (factor, lambda attempt, error: asked):
        policy = RetryPolicy(interval=interval, backoff=backoff, jitter=jitter)
        delay = policy.delay(attempt, random=lambda: chance)
        assert type(delay) is float
        assert 0 <= delay <= 3600


def test_attempts_end_at_the_maximum_and_one_means_no_retry():
    assert [RetryPolicy(max_attempts=3).should_retry(n, ValueError()) for n in (1, 2, 3, 4)] == [
        True,
        True,
        False,
        False,
    ]
    assert not RetryPolicy().should_retry(1, ValueError())


def test_without_types_only_exceptions_are_retried():
    policy = RetryPolicy(max_attempts=2)
    assert policy.should_retry(1, KeyError())
    assert not policy.should_retry(1, SystemExit())


@pytest.mark.parametrize(
    "types", [LookupError, (LookupError,), [LookupError, OSError], {LookupError}], ids=str
)
def test_only_the_named_types_are_retried(types):
    policy = RetryPolicy(max_attempts=2, retry_on=types)
    assert policy.should_retry(1, KeyError())
    assert not policy.should_retry(1, ValueError())
    assert not policy.should_retry(2, KeyError())


def test_no_types_at_all_means_no_retry():
    assert not RetryPolicy(max_attempts=2, retry_on=()).should_retry(1, ValueError())


def test_a_predicate_decides():
    policy = RetryPolicy(max_attempts=2, retry_on=lambda error: "busy" in str(error))
    assert policy.should_retry(1, ValueError("busy"))
    assert not policy.should_retry(1, ValueError("gone"))


def test_a_predicate_that_raises_says_no_and_leaves_a_note():
    error = ValueError()
    assert not RetryPolicy(max_attempts=2, retry_on=lambda error: 1 / 0).should_retry(1, error)
    assert error.__notes__ == ["not retried, as retry_on raised ZeroDivisionError"]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        *(
            ("max_attempts", value, "whole number from 1 to 1000000")
            for value in (0, -1, 1.5, True, None, "3", 10**7)
        ),
        *(
            ("interval", value, "timedelta or seconds")
            for value in (-1, math.nan, math.inf, None, "1", True, Quiet())
        ),
        *(("max_interval", value, "from 0 to 31536000") for value in (-1, math.inf, 10**400, timedelta.max)),
        *(
            ("backoff", value, "a factor of at least 1")
            for value in (0, 0.5, -2, math.nan, None, "2", True, float)
        ),
        *(("jitter", value, "a share between 0 and 1") for value in (-0.1, 1.1, math.nan, None, "0", True)),
        *(
            ("retry_on", value, "exception type")
            for value in (int, "ValueError", (ValueError, int), ValueError(), 5)
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:12],
)
def test_an_option_that_makes_no_sense_is_refused_in_words(option, value, words):
    with pytest.raises(InvalidOption) as caught:
        RetryPolicy(**{option: value})
    assert str(caught.value).startswith(f"{option} must be ")
    assert words in str(caught.value)


def test_an_interval_above_the_longest_tells_to_raise_that_too():
    with pytest.raises(InvalidOption, match=r"interval \(7200 s\) is longer than max_interval \(3600 s\)"):
        RetryPolicy(interval=7200)


def test_a_policy_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RetryPolicy().max_attempts = 2  # type: ignore[misc]
    assert steady(interval=timedelta(seconds=2)) == steady(interval=2.0)
