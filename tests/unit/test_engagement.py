"""When reading a queue behind positions is tried, and when that is given up again."""

from __future__ import annotations

import time

import pytest

from django_durable.claim.cursors import COSTLY, REFUSAL, SLOW_READS, Engagement

SLOW, QUICK = COSTLY * 2, COSTLY / 2


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def engaged(settings, clock) -> Engagement:
    settings.DURABLE = {"CURSORS": "auto"}
    engagement = Engagement()
    for extra in range(SLOW_READS):
        assert not engagement.includes("q")
        engagement.note_cold("q", SLOW + extra)
    return engagement


def test_slow_claims_count_though_the_question_for_work_is_quick(settings, clock):
    settings.DURABLE = {"CURSORS": "auto"}
    engagement = Engagement()
    for _ in range(SLOW_READS):
        assert not engagement.includes("q")
        engagement.note_cold("q", QUICK, "poll")
        engagement.note_cold("q", SLOW)
    assert engagement.includes("q")


def test_slow_reads_in_a_row_engage_and_a_quick_one_begins_the_row_anew(settings, clock):
    settings.DURABLE = {"CURSORS": "auto"}
    engagement = Engagement()
    for seconds in [SLOW] * (SLOW_READS - 1) + [QUICK] + [SLOW] * (SLOW_READS - 1):
        engagement.note_cold("q", seconds)
    assert not engagement.includes("q")
    engagement.note_cold("q", SLOW)
    assert engagement.includes("q")


def test_one_read_that_the_machine_made_slow_does_not_end_it(engaged):
    for seconds in [SLOW * 99, SLOW, SLOW * 99, SLOW]:
        assert not engaged.note_warm("q", seconds)
    assert engaged.includes("q")


def test_reads_worse_than_the_best_of_the_slow_ones_end_it_for_a_while(engaged, clock):
    found = [engaged.note_warm("q", SLOW * 1.01) for _ in range(SLOW_READS)]
    assert found == [False] * (SLOW_READS - 1) + [True]
    for _ in range(SLOW_READS):
        engaged.note_cold("q", SLOW)
    assert not engaged.includes("q")
    clock[0] += REFUSAL
    for _ in range(SLOW_READS):
        engaged.note_cold("q", SLOW)
    assert engaged.includes("q")


def test_who_always_wants_positions_has_them_however_slow(settings, clock):
    settings.DURABLE = {"CURSORS": "always"}
    engagement = Engagement()
    assert not any(engagement.note_warm("q", 99.0) for _ in range(SLOW_READS))
    assert engagement.includes("q")
    engagement.refuse("q")
    assert not engagement.includes("q")


def test_who_never_wants_them_has_none(settings, clock):
    settings.DURABLE = {"CURSORS": "never"}
    engagement = Engagement()
    for _ in range(SLOW_READS):
        engagement.note_cold("q", SLOW)
    assert not engagement.includes("q")
