"""Runs that a process leaves to others come back no faster than it can put them off beside its own work."""

from __future__ import annotations

import pytest

from django_durable.engine.execution.deferrals import A_SECOND, Deferrals

LEAST = 5.0


def test_few_come_back_after_the_least_time():
    deferrals = Deferrals()
    assert {deferrals.after(LEAST, now=0.1 * number) for number in range(20)} == {LEAST}


def test_of_many_so_many_a_second_come_back():
    deferrals = Deferrals()
    count = 100 * A_SECOND
    instants = [0.002 * number for number in range(count)]
    back = [now + deferrals.after(LEAST, now) for now in instants]
    assert back == sorted(back)
    assert back[-1] == pytest.approx(100.0)
    assert all(
        later - earlier > 0.9 for earlier, later in zip(back, back[A_SECOND:], strict=False) if earlier > 20
    )


def test_once_they_are_back_the_next_stays_away_as_briefly_as_the_first():
    deferrals = Deferrals()
    for _ in range(1000):
        deferrals.after(LEAST, now=0.0)
    assert deferrals.after(LEAST, now=0.0) > 20
    assert deferrals.after(LEAST, now=1000 / A_SECOND + 1) == LEAST


def test_one_that_is_to_stay_away_for_long_holds_up_no_other():
    deferrals = Deferrals()
    assert deferrals.after(500.0, now=0.0) == 500.0
    assert deferrals.after(LEAST, now=0.0) == LEAST
