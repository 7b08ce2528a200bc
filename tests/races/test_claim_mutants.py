"""Each rule of locking that the meetings and interleavings must notice when it is broken."""

from __future__ import annotations

import random
from contextlib import ExitStack

import pytest
from django.db import DatabaseError, connection

from django_durable.claim import attempt as attempt_module
from django_durable.claim.usage import Meter
from django_durable.models.workflow_manager import WorkflowManager
from tests.mutants import Mutant, in_python, in_sql
from tests.queue_world import HERE, QueueWorld
from tests.races import test_claim_meetings as meetings
from tests.races.stage import Stage, empty_tables, held
from tests.races.test_claim_interleavings import (
    LOCK_LIMITS,
    LOCK_QUEUE,
    LOCK_ROWS,
    Recorded,
    assert_right,
    assert_within_limits,
    claim,
    committed,
    interleave,
    read_in_small_parts,
)

WORLDS = 150


right_lock = Meter.lock


def keeps_what_it_counted_first(self, keys):
    before = dict(self.usage.keys)
    held, _ = right_lock(self, keys)
    self.usage.keys.update({key: before[key] for key in held})
    return held, False


def takes_all_for_held(self, params):
    return params["ids"]


def takes_all_for_gone(self, params):
    return []


MUTANTS = [
    Mutant(
        "keys are counted again behind their locks", in_python(Meter, "lock", keeps_what_it_counted_first)
    ),
    Mutant("limits are locked", in_sql("lock_limits", "FOR NO KEY UPDATE SKIP LOCKED", "")),
    Mutant("a lock never waits", in_sql("lock_limits", " SKIP LOCKED", "")),
    Mutant("rows never wait", in_sql("mark_claimed", " SKIP LOCKED", "")),
    Mutant("a queue is locked", in_sql("lock_queue", "FOR NO KEY UPDATE SKIP LOCKED", "")),
    Mutant("a queue is not waited for", in_sql("lock_queue", " SKIP LOCKED", "")),
    Mutant("what is held keeps its place", in_python(WorkflowManager, "still_in_line", takes_all_for_gone)),
    Mutant("a status is looked at again", in_sql("lock_planned", "w.status = 'ENQUEUED' AND", "")),
    Mutant(
        "a plan is marked whole", in_sql("mark_claimed", "HAVING count(*) = cardinality(%(ids)s::text[])", "")
    ),
]


MUTANTS_OF_MEETINGS = {
    meetings.test_a_row_that_is_gone_leaves_its_place_to_the_next: in_python(
        WorkflowManager, "still_in_line", takes_all_for_held
    ),
    meetings.test_two_claims_of_one_fair_queue_share_it_without_gaps: in_python(
        Meter, "recount_groups", lambda self: None
    ),
    meetings.test_a_peer_between_count_and_lock_does_not_carry_a_limit_beyond_itself: in_python(
        Meter, "lock", keeps_what_it_counted_first
    ),
}


@pytest.mark.parametrize("meeting", MUTANTS_OF_MEETINGS)
def test_a_meeting_notices_its_broken_rule(meeting, stages, monkeypatch):
    MUTANTS_OF_MEETINGS[meeting](monkeypatch)
    empty_tables()
    stages.append(Stage())
    with pytest.raises(AssertionError):
        meeting(stages[-1])


@pytest.fixture
def stages(transactional_db, monkeypatch):
    stages: list[Stage] = []
    monkeypatch.setattr(attempt_module, "WindowedClaim", Recorded)
    yield stages
    for stage in stages:
        stage.close()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_broken_rule_is_noticed(mutant, stages, monkeypatch):
    mutant.break_it(monkeypatch)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '300ms'")
    assert any(goes_wrong(seed, stages, monkeypatch) for seed in range(WORLDS))


def goes_wrong(seed: int, stages: list[Stage], monkeypatch) -> bool:
    rng = random.Random(seed)
    with monkeypatch.context() as parts:
        read_in_small_parts(parts, rng)
        try:
            among_holders(committed(seed), rng, seed)
            among_claimers(committed(seed), stages, rng, seed)
        except (AssertionError, DatabaseError):
            return True
    return False


def among_holders(world: QueueWorld, rng: random.Random, seed: int) -> None:
    with ExitStack() as others:
        others.enter_context(held(LOCK_ROWS, [row.id for row in world.rows if rng.random() < 0.3]))
        others.enter_context(held(LOCK_LIMITS, [key for key in world.keys if rng.random() < 0.3]))
        if rng.random() < 0.3:
            others.enter_context(held(LOCK_QUEUE, HERE))
        account = claim(world)
    assert_right(world, [account], seed)


def among_claimers(world: QueueWorld, stages: list[Stage], rng: random.Random, seed: int) -> None:
    stages.append(Stage())
    accounts = interleave(stages[-1], world, rng)
    assert_right(world, accounts, seed)
    assert_within_limits(world, seed)
