"""Ten claimers, two queues that meet their keys in opposite orders, limits edited: none is passed.

A longer run: CLAIM_SECONDS=300 python -m pytest tests/stress/test_claim_limits.py --timeout 900
"""

from __future__ import annotations

import os
import random
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction

from django_durable.models import Limit
from tests.factories import QueueFactory
from tests.queue_world import Row, load_rows
from tests.stress.claimers import Crew, Ran, most_at_once, most_starts, prepare_record, read_record

SECONDS = float(os.environ.get("CLAIM_SECONDS", "8"))
CLAIMERS = 10
KEYS = [f"key{number:02}" for number in range(20)]
RATED = KEYS[:4]
STARTS, WINDOW = 10, timedelta(seconds=1)
EDITED = KEYS[4:]
ROWS_A_KEY = 50


@pytest.fixture
def crew(transactional_db) -> Iterator[Crew]:
    prepare_record()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM durable_queue")
    QueueFactory(name="up")
    QueueFactory(name="down", fair=True)
    load_rows(_line("up", KEYS, first=1))
    load_rows(_line("down", KEYS[::-1], first=100_000))
    Limit.objects.bulk_create(
        [Limit(key=key, max_starts=STARTS, window=WINDOW) for key in RATED]
        + [Limit(key=key, max_running=3) for key in EDITED]
    )
    lines = [("up", "down"), ("down", "up")] * (CLAIMERS // 2)
    crew = Crew(lines, slots=20, seconds=SECONDS, dbname=connection.settings_dict["NAME"])
    yield crew
    crew.kill()


def _line(queue: str, keys: list[str], first: int) -> list[Row]:
    numbers = range(ROWS_A_KEY * len(keys))
    return [Row(f"{queue}{n}", first + n, queue=queue, key=keys[n % len(keys)]) for n in numbers]


def test_no_limit_is_passed_at_any_instant(crew):
    deadlocks = count_deadlocks()
    crew.start()
    history = edit_limits(time.monotonic() + SECONDS)
    claimed, errors = crew.finish()
    assert errors == []
    assert count_deadlocks() == deadlocks
    runs = read_record()
    assert len(runs) == claimed > 20 * CLAIMERS
    for key, levels in most_at_once(runs).items():
        if key in EDITED:
            assert all(level <= in_force(history[key], moment) for moment, level in levels), key
    for key in RATED:
        moments = [run.started_at for run in runs if run.key == key]
        assert most_starts(moments, WINDOW) <= STARTS, key
    assert {run.key for run in runs} == set(KEYS)


def edit_limits(until: float) -> dict[str, list[tuple[datetime, int]]]:
    """Change limits at random; for each key what held since when, by the database's clock."""
    rng = random.Random(7)
    history: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
    for key in EDITED:
        history[key].append((datetime.min.replace(tzinfo=connection.timezone), 3))
    while time.monotonic() < until:
        time.sleep(0.01)
        key, most = rng.choice(EDITED), rng.randint(1, 5)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("UPDATE durable_limit SET max_running = %s WHERE key = %s", [most, key])
            cursor.execute("SELECT clock_timestamp()")
            history[key].append((cursor.fetchone()[0], most))
    return history


def in_force(history: list[tuple[datetime, int]], moment: datetime) -> int:
    return history[bisect_right(history, (moment, 0)) - 1][1]


def count_deadlocks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_the_sweep_sees_what_overlaps():
    at = [datetime(2026, 1, 1, tzinfo=connection.timezone) + timedelta(seconds=n) for n in range(5)]
    runs = [Ran("k", at[0], at[2]), Ran("k", at[1], at[3]), Ran("k", at[3], at[4])]
    assert [level for _, level in most_at_once(runs)["k"]] == [1, 2, 1]


def test_the_sweep_sees_starts_within_one_window():
    at = [datetime(2026, 1, 1, tzinfo=connection.timezone) + timedelta(seconds=n) for n in (0, 1, 2, 5)]
    assert most_starts(at, timedelta(seconds=2)) == 2
    assert most_starts(at, timedelta(seconds=2, microseconds=1)) == 3
