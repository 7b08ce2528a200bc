"""On a server, a claim of any queue takes exactly what the oracle says, in its order, and writes no more."""

from __future__ import annotations

import random
from collections import Counter
from uuid import UUID

import pytest
from django.db import connection

from django_durable.claim import full, usage, windows
from django_durable.claim.claimer import Claimer, Claims
from django_durable.core.planning import planner
from django_durable.core.planning.budget import limit_bucket
from django_durable.core.states import Status
from django_durable.models import RateStart, WorkflowStatus
from tests.queue_world import ELSEWHERE, HERE, PEER, PERIOD, QueueWorld, Row, random_world

SEEDS = 2000
A_TEST = 100
MARKS = ("line", "group_line", "enqueued_xid", "arrival")


@pytest.fixture(autouse=True)
def _no_queues_but_those_of_a_world(db):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM durable_queue")


@pytest.mark.parametrize("first", range(0, SEEDS, A_TEST))
def test_a_claim_takes_what_ranking_the_whole_queue_would_take(first, monkeypatch):
    for seed in range(first, first + A_TEST):
        read_in_small_parts(monkeypatch, random.Random(seed))
        world = random_world(seed)
        before = connection.savepoint()
        world.load_limits()
        claimer = claimer_of(world)
        if seed % 2:
            claimer.claim(
                HERE, 1
            )  # an empty line: only to know the queue, so that a plain one takes the fast path
        world.load_line()
        claims = claimer.claim(HERE, world.slots)
        assert [run.id for run in claims.runs] == world.expected(), f"seed {seed}"
        assert_written(world, claims)
        connection.savepoint_rollback(before)


CHOSEN = {
    "starts of long ago leave room, beside a key that has none": QueueWorld(
        [
            Row("r", 9, Status.PENDING, key="full", executor=PEER, holds_slot=True),
            Row("a", 1, key="full"),
            Row("b", 2, key="rated"),
        ],
        keys={"full": {"max_running": 1}, "rated": {"max_starts": 1, "window": PERIOD}},
        starts=[(limit_bucket("rated"), PERIOD + 5)],
        slots=1,
    ),
    "a partition has room beside one that has none, and none of its name elsewhere": QueueWorld(
        [
            Row(
                f"r{number}",
                90 + number,
                Status.PENDING,
                queue,
                partition=partition,
                executor=PEER,
                holds_slot=True,
            )
            for number, (queue, partition) in enumerate(
                [(HERE, "full"), (HERE, "full"), (HERE, "half"), (ELSEWHERE, "half")]
            )
        ]
        + [Row("a", 1, partition="full"), Row("b", 2, partition="half")],
        {"partition_concurrency": 2},
        slots=1,
    ),
    "a run that waits has the room of its key": QueueWorld(
        [Row("r", 9, Status.WAITING, key="k", holds_slot=True), Row("w", 1, key="k")],
        keys={"k": {"max_running": 1}},
    ),
    "a peer is at work, this worker is not": QueueWorld(
        [Row("r", 9, Status.PENDING, executor=PEER, holds_slot=True), Row("w", 1)],
        {"worker_concurrency": 1},
    ),
    "the null partition is in use": QueueWorld(
        [Row("r", 9, Status.PENDING, executor=PEER, holds_slot=True), Row("w", 1)],
        {"partition_concurrency": 1},
    ),
    "a group goes on at a lower priority, in front of where it was read": QueueWorld(
        [Row("r", 9, Status.PENDING, key="full", executor=PEER, holds_slot=True)]
        + [Row(f"full{seq}", seq, priority=5, key="full") for seq in range(100, 120)]
        + [Row("a", 120, priority=5, key="free"), Row("b", 1, key="free"), Row("c", 2, key="free")],
        keys={"full": {"max_running": 1}},
    ),
}


@pytest.mark.parametrize("world", CHOSEN.values(), ids=CHOSEN)
def test_a_claim_of_a_chosen_queue_takes_what_ranking_it_would_take(world, monkeypatch):
    read_in_smallest_parts(monkeypatch)
    world.load()
    claims = claimer_of(world).claim(HERE, world.slots)
    assert [run.id for run in claims.runs] == world.expected()


def read_in_smallest_parts(monkeypatch) -> None:
    monkeypatch.setattr(planner, "FIRST_WINDOW", 1)
    monkeypatch.setattr(windows, "STRETCH", 1)
    monkeypatch.setattr(full, "MANY", 1)


def read_in_small_parts(monkeypatch, rng: random.Random) -> None:
    """Make several windows, walks of several steps and reads of single groups happen in short lines too."""
    monkeypatch.setattr(planner, "FIRST_WINDOW", rng.choice([1, 1, 2, 4]))
    monkeypatch.setattr(windows, "WINDOWS_BEFORE_DIRECTORY", rng.choice([1, 1, 2, 3]))
    monkeypatch.setattr(windows, "STRETCH", rng.choice([1, 3, 10, 500]))
    monkeypatch.setattr(usage, "MANY_KEYS", rng.choice([1, 3, 100]))
    monkeypatch.setattr(full, "MANY", rng.choice([1, 2, 20, 20]))
    monkeypatch.setattr(full, "MOST_LIMITS", rng.choice([0, 0, 2, 2000]))
    monkeypatch.setattr(windows, "GROUPS_A_STEP", rng.choice([1, 2, 5, 128]))
    monkeypatch.setattr(windows, "MOST_GROUPS_AT_FIRST", rng.choice([0, 3, 1000]))
    monkeypatch.setattr(windows, "GROWTH", rng.choice([1, 2, 4]))


def claimer_of(world: QueueWorld) -> Claimer:
    claimer = Claimer(world.identity.executor, "default")
    claimer.identity = world.identity
    return claimer


def assert_written(world: QueueWorld, claims: Claims) -> None:
    stored = {row.id: row for row in WorkflowStatus.objects.all()}
    taken = {run.id for run in claims.runs}
    assert len({run.token for run in claims.runs}) <= 1
    for row in world.rows:
        if row.id in taken:
            assert_claimed(stored[row.id], row, world.identity.version, claims.runs[0].token)
        else:
            assert_untouched(stored[row.id], row)
    starts = Counter(RateStart.objects.values_list("bucket", flat=True))
    assert starts == world.expected_starts(row for row in world.rows if row.id in taken)


def assert_claimed(stored: WorkflowStatus, row: Row, version: str | None, token: UUID) -> None:
    assert (stored.status, stored.claim_token, stored.claims) == (Status.PENDING, token, 1)
    assert [getattr(stored, mark) for mark in MARKS] == [None] * len(MARKS)
    assert stored.claim_seq is not None
    assert stored.seq == row.seq
    assert stored.app_version == (row.version or version)
    assert stored.started_at is not None
    assert stored.timeout is not None
    assert stored.deadline is not None
    assert abs(stored.deadline - stored.started_at - stored.timeout).total_seconds() < 1


def assert_untouched(stored: WorkflowStatus, row: Row) -> None:
    assert stored.status == row.status
    assert stored.line == (row.seq if row.status == Status.ENQUEUED else None)
    assert stored.executor_id == row.executor
    assert stored.claims == (0 if row.status == Status.ENQUEUED else 1)
    assert stored.app_version == row.version
