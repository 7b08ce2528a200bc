"""Claims of one world stepped through each other at random: each takes what the oracle says of what it found.

A claim is judged by its own account: the rooms it counted last, the rows it found held, and those that had
left the line. That its counts were right is judged by the tables: no limit is passed, nothing is taken twice.

A longer run: CLAIM_WORLDS=20000 python -m pytest tests/races/test_claim_interleavings.py
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections, transaction

from django_durable.claim import attempt as attempt_module
from django_durable.claim import claimer as claimer_module
from django_durable.claim import full, windows
from django_durable.claim.claimer import Claimer, Claims
from django_durable.claim.windowed import WindowedClaim
from django_durable.core.planning import planner
from django_durable.core.states import Status
from django_durable.models import RateStart, WorkflowStatus
from tests import oracle
from tests.queue_world import HERE, QueueWorld, random_world
from tests.races.stage import PATIENCE, Stage, empty_tables

WORLDS = int(os.environ.get("CLAIM_WORLDS", "2000"))
WORLDS_A_TEST = 100
MOST_CLAIMERS = 3
MOST_CLAIMS = 3  # of each: its first may find the queue held, and its second leave the keys to the peers
WAIT = 0.002  # seconds for a peer that cannot move until the wait is over
LOCK_ROWS = "SELECT id FROM durable_workflow_status WHERE id = ANY(%s) FOR UPDATE"
LOCK_LIMITS = "SELECT key FROM durable_limit WHERE key = ANY(%s) FOR UPDATE"
LOCK_QUEUE = "SELECT name FROM durable_queue WHERE name = %s FOR UPDATE"


@dataclass
class Account:
    """One claim and, where it planned in windows, how."""

    claims: Claims
    planned: WindowedClaim | None

    @property
    def ids(self) -> list[str]:
        return [run.id for run in self.claims.runs]

    @property
    def left_it_to_peers(self) -> bool:
        planned = self.planned
        return planned is not None and planned.yields and planned.keys_elsewhere and not self.ids

    def expected(self, world: QueueWorld, taken_by_others: set[str]) -> list[str]:
        if self.planned is None or self.left_it_to_peers:
            return self.ids
        plan, meter = self.planned.planner, self.planned.meter
        held_rows = set(plan._held)
        rows = [row.candidate for row in world.ready() if row.id not in taken_by_others - held_rows]
        return oracle.rank(rows, meter.rooms, meter.usage.busy, meter.limits.fair, held_rows)


class Recorded(WindowedClaim):
    """Remembers the last claim of each thread."""

    of_thread = threading.local()

    def take(self) -> Claims:
        Recorded.of_thread.claim = self
        return super().take()


class Peer:
    """Locks rows from a connection of its own, for the while of a world."""

    def __init__(self) -> None:
        self._connection = connection.copy()
        self._connection.set_autocommit(False)

    @contextmanager
    def holding(self, *locks: tuple[str, Any]) -> Iterator[None]:
        try:
            with self._connection.cursor() as cursor:
                for statement, names in locks:
                    cursor.execute(statement, [names])
            yield
        finally:
            self._connection.rollback()

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def peer(transactional_db) -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def crew(transactional_db, monkeypatch) -> Iterator[ThreadPoolExecutor]:
    monkeypatch.setattr(attempt_module, "WindowedClaim", Recorded)
    monkeypatch.setattr(claimer_module, "PATIENCE", WAIT)
    with ThreadPoolExecutor(MOST_CLAIMERS) as crew:
        yield crew
        all_there = threading.Barrier(MOST_CLAIMERS)
        for _ in range(MOST_CLAIMERS):
            crew.submit(lambda: (all_there.wait(PATIENCE), connections.close_all()))


@pytest.mark.parametrize("first", range(0, WORLDS, WORLDS_A_TEST))
def test_claims_stepped_through_each_other_leave_what_is_held_and_take_what_the_oracle_says(
    first, crew, peer, monkeypatch
):
    for seed in range(first, min(first + WORLDS_A_TEST, WORLDS)):
        rng = random.Random(seed)
        read_in_small_parts(monkeypatch, rng)
        world = committed(seed)
        rows, keys, locks = random_locks(world, rng)
        with peer.holding(*locks), closing(Stage(crew)) as stage:
            accounts = interleave(stage, world, rng)
        assert_held_are_left(accounts, rows, keys, seed)
        assert_right(world, accounts, seed)


def random_locks(world: QueueWorld, rng: random.Random) -> tuple[set[str], set[str], list[tuple[str, Any]]]:
    """Rows and limits that a peer holds in every other world, in some the queue too, and how."""
    share = rng.choice([0, 0.3])
    rows = {row.id for row in world.rows if rng.random() < share}
    keys = {key for key in world.keys if rng.random() < share}
    locks: list[tuple[str, Any]] = [(LOCK_ROWS, sorted(rows)), (LOCK_LIMITS, sorted(keys))]
    if rng.random() < share / 3:
        locks.append((LOCK_QUEUE, HERE))
    return rows, keys, locks


def committed(seed: int) -> QueueWorld:
    world = random_world(seed)
    with transaction.atomic():
        empty_tables()
        world.load()
    return world


def read_in_small_parts(monkeypatch, rng: random.Random) -> None:
    monkeypatch.setattr(planner, "FIRST_WINDOW", rng.choice([1, 2, 4]))
    monkeypatch.setattr(windows, "STRETCH", rng.choice([1, 10, 500]))
    monkeypatch.setattr(windows, "GROUPS_A_STEP", rng.choice([1, 5, 128]))
    monkeypatch.setattr(full, "MANY", rng.choice([1, 2, 20]))


def claim(world: QueueWorld, executor: int = 1) -> Account:
    claimer = Claimer(UUID(int=executor), "default")
    claimer.identity = replace(world.identity, executor=UUID(int=executor))
    account = claim_once(claimer, world)
    for _ in range(MOST_CLAIMS - 1):
        if account.ids or not account.claims.peer_at_work:
            break
        account = claim_once(claimer, world)
    return account


def claim_once(claimer: Claimer, world: QueueWorld) -> Account:
    Recorded.of_thread.claim = None
    claims = claimer.claim(HERE, world.slots)
    return Account(claims, Recorded.of_thread.claim)


def interleave(stage: Stage, world: QueueWorld, rng: random.Random) -> list[Account]:
    names = [f"claimer {number}" for number in range(rng.choice([2, 2, MOST_CLAIMERS]))]
    for number, name in enumerate(names):
        stage.enter(name, partial(claim, world, 10 + number))
    stage.shuffle(rng)
    return [stage.results[name] for name in names]


def assert_held_are_left(accounts: list[Account], rows: set[str], keys: set[str], seed: int) -> None:
    taken = [run for account in accounts for run in account.claims.runs]
    assert not rows & {run.id for run in taken}, f"seed {seed}: a row that is held"
    assert not keys & {run.limit_key for run in taken}, f"seed {seed}: a key whose limit is held"


def assert_right(world: QueueWorld, accounts: list[Account], seed: int) -> None:
    taken = [workflow_id for account in accounts for workflow_id in account.ids]
    assert len(taken) == len(set(taken)), f"seed {seed}: taken twice"
    for account in accounts:
        others = set(taken) - set(account.ids)
        assert account.ids == account.expected(world, others), f"seed {seed}"
    assert_within_limits(world, seed)


def assert_within_limits(world: QueueWorld, seed: int) -> None:
    """What runs now is no more than the limits, or than what ran before under no such limit."""
    running = WorkflowStatus.objects.filter(claim_seq__isnull=False)
    before = world.rooms()
    here = [row for row in running if row.queue == HERE and row.claims == 1 and row.id.startswith("w")]
    fleet = Counter(row.partition_key for row in here)
    keys = Counter(row.limit_key for row in here)
    assert before.queue is None or len(here) <= max(before.queue, 0), f"seed {seed}: queue"
    for key, room in before.keys.items():
        assert keys[key] <= max(room, 0), f"seed {seed}: key {key}"
    for partition, count in fleet.items():
        left = before.of_partition(partition).fleet
        assert left is None or count <= max(left, 0), f"seed {seed}: partition {partition}"
    starts = Counter(RateStart.objects.values_list("bucket", flat=True))
    assert starts == world.expected_starts(
        row for row in world.rows if row.status == Status.ENQUEUED and row.id in {run.id for run in here}
    ), f"seed {seed}: starts"
