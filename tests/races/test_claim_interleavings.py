"""Claims of one world stepped through each other at random: each takes what the oracle says of what it found.

A claim is judged by its own account: the rooms it counted last, the rows it found held, and those that had
left the line. That its counts were right is judged by the tables: no limit is passed, nothing is taken twice.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

import pytest

from django_durable.claim import claimer as claimer_module
from django_durable.claim import windows
from django_durable.claim.claimer import Claimer, Claims
from django_durable.claim.windowed import WindowedClaim
from django_durable.core.planning import planner
from django_durable.core.states import Status
from django_durable.models import RateStart, WorkflowStatus
from tests import oracle
from tests.queue_world import HERE, QueueWorld, random_world
from tests.races.stage import Stage, empty_tables, held

WORLDS = 120
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

    def expected(self, world: QueueWorld, taken_by_others: set[str]) -> list[str]:
        if self.planned is None:
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


@pytest.fixture
def stage(transactional_db, monkeypatch) -> Iterator[list[Stage]]:
    stages: list[Stage] = []
    monkeypatch.setattr(claimer_module, "WindowedClaim", Recorded)
    yield stages
    for stage in stages:
        stage.close()


@pytest.mark.parametrize("first", range(0, WORLDS, 30))
def test_claims_stepped_through_each_other_take_what_the_oracle_says(first, stage, monkeypatch):
    for seed in range(first, first + 30):
        rng = random.Random(seed)
        read_in_small_parts(monkeypatch, rng)
        world = committed(seed)
        stage.append(Stage())
        accounts = interleave(stage[-1], world, rng)
        assert_right(world, accounts, seed)


@pytest.mark.parametrize("first", range(0, WORLDS, 30))
def test_a_claim_leaves_what_others_hold_and_takes_what_the_oracle_says(first, stage, monkeypatch):
    for seed in range(first, first + 30):
        rng = random.Random(seed)
        read_in_small_parts(monkeypatch, rng)
        world = committed(seed)
        rows = [row.id for row in world.rows if rng.random() < 0.3]
        keys = [key for key in world.keys if rng.random() < 0.3]
        with ExitStack() as others:
            others.enter_context(held(LOCK_ROWS, rows))
            others.enter_context(held(LOCK_LIMITS, keys))
            if rng.random() < 0.1:
                others.enter_context(held(LOCK_QUEUE, HERE))
            account = claim(world)
        assert not set(account.ids) & set(rows), f"seed {seed}"
        taken_keys = {run.limit_key for run in account.claims.runs}
        assert not taken_keys & set(keys), f"seed {seed}"
        assert_right(world, [account], seed)


def committed(seed: int) -> QueueWorld:
    empty_tables()
    world = random_world(seed)
    world.load()
    return world


def read_in_small_parts(monkeypatch, rng: random.Random) -> None:
    monkeypatch.setattr(planner, "FIRST_WINDOW", rng.choice([1, 2, 4]))
    monkeypatch.setattr(windows, "STRETCH", rng.choice([1, 10, 500]))
    monkeypatch.setattr(windows, "GROUPS_A_STEP", rng.choice([1, 5, 128]))


def claim(world: QueueWorld, executor: int = 1) -> Account:
    claimer = Claimer(UUID(int=executor), "default")
    claimer.identity = replace(world.identity, executor=UUID(int=executor))
    Recorded.of_thread.claim = None
    claims = claimer.claim(HERE, world.slots)
    if claims.peer_at_work and not claims.runs:
        claims = claimer.claim(HERE, world.slots)  # the first one left it to the peers
    return Account(claims, Recorded.of_thread.claim)


def interleave(stage: Stage, world: QueueWorld, rng: random.Random) -> list[Account]:
    names = [f"claimer {number}" for number in range(rng.choice([2, 2, 3]))]
    for number, name in enumerate(names):
        stage.enter(name, partial(claim, world, 10 + number))
    stage.shuffle(rng)
    return [stage.results[name] for name in names]


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
