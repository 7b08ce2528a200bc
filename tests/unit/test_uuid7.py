"""Generated ids sort by time, whatever the clock and the threads do."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from django_durable.core import uuid7 as module
from django_durable.core.identifiers import check_identifier
from django_durable.core.uuid7 import uuid7


@pytest.fixture(autouse=True)
def own_counter(monkeypatch):
    monkeypatch.setattr(module, "_highest", [0])


def test_an_id_is_a_uuid_of_version_7():
    made = uuid.UUID(uuid7())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert str(made) == check_identifier("workflow id", str(made))


def test_an_id_holds_the_time_it_was_made():
    before = time.time_ns() // 1_000_000
    milliseconds = uuid.UUID(uuid7()).int >> 80
    assert before <= milliseconds <= time.time_ns() // 1_000_000


def test_an_id_holds_parts_of_its_millisecond(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 10**18 + 500_000)
    assert uuid.UUID(uuid7()).int >> 64 & 0xFFF == module.STEPS // 2


def test_ids_of_one_thread_increase():
    made = [uuid7() for _ in range(20_000)]
    assert all(earlier < later for earlier, later in pairwise(made))


def test_ids_increase_though_the_clock_stands_or_is_set_back(monkeypatch):
    times = iter([10**18, 10**18, 10**18 - 3600 * 10**9, 10**18 + 1, 10**18 + 10**6])
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    made = [uuid7() for _ in range(5)]
    assert made == sorted(made)
    assert len({text[:18] for text in made}) == 5


def test_a_millisecond_is_carried_over_when_its_steps_are_used_up(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)
    made = [uuid7() for _ in range(module.STEPS + 2)]
    assert made == sorted(made)
    assert {uuid.UUID(text).version for text in made} == {7}
    assert len({text[:13] for text in made}) == 2


def test_no_two_threads_get_the_same_stamp(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)

    def many(_):
        return [uuid7() for _ in range(3000)]

    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(many, range(4)))
    for own in made:
        assert own == sorted(own)
    assert len({text[:18] for own in made for text in own}) == 12_000
