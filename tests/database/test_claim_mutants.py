"""Each rule of reading, counting and writing that the oracle test must notice when it is broken."""

from __future__ import annotations

import random
from itertools import chain

import pytest
from django.db import DatabaseError, connection

from django_durable.claim import head as head_module
from django_durable.claim.usage import Meter
from django_durable.claim.windowed import WindowedClaim
from django_durable.claim.windows import Directory, LineReader, Window
from django_durable.core.planning.budget import Usage
from tests.database.test_claim_oracle import (
    CHOSEN,
    assert_written,
    claimer_of,
    read_in_small_parts,
    read_in_smallest_parts,
)
from tests.mutants import Break, Mutant, in_every_statement, in_python, in_sql
from tests.queue_world import HERE, QueueWorld, random_world

WORLDS = 400
WINDOW = "AND s.started_at > statement_timestamp() - make_interval(secs => extract(epoch FROM {})::float8)"


def reads_stretches_as_ends(self, planner):
    rows, ended, reached = right_window(self, planner)
    return Window(rows, ended or reached is not None)


def forgets_how_far_it_read(self, planner):
    return right_window(self, planner)._replace(reached=None)


def takes_a_part_for_all(self, planner, busy):
    directory = right_walk(self, planner, busy)
    return directory and Directory(directory.places, True)


right_window, right_walk = LineReader.next_window, LineReader.walk

MUTANTS = [
    Mutant("a rate has a window", in_sql("count_starts", WINDOW.format("%(period)s::interval"), "")),
    Mutant("the rate of a key has a window", in_sql("limit_rooms", WINDOW.format("l.window"), "")),
    Mutant(
        "what waits keeps its slot", in_sql("limit_rooms", "w.claim_seq IS NOT NULL", "w.status = 'PENDING'")
    ),
    Mutant("a key is counted over all queues", in_sql("limit_rooms", "w.limit_key = l.key", "false")),
    Mutant(
        "a key is full at its bound",
        in_sql("full_keys", "running.count >= l.max_running", "running.count >= l.max_running - 1"),
    ),
    Mutant("the rate of a full key has a window", in_sql("full_keys", WINDOW.format("l.window"), "")),
    Mutant(
        "a walk leaves out what is full alone",
        in_sql(
            "walk_groups", "SELECT unnest(string_to_array(%(shut)s, E'\\x1f'))", "SELECT group_key FROM walk"
        ),
    ),
    Mutant(
        "a partition is full at its bound",
        in_sql("full_partitions", "count(*) >= %(of_fleet)s", "count(*) >= %(of_fleet)s - 1"),
    ),
    Mutant("partitions are full by queue", in_sql("full_partitions", "w.queue = %(queue)s", "true")),
    Mutant("a queue counts its own", in_sql("count_in_flight", "w.queue = %(queue)s", "true")),
    Mutant("groups are counted by queue", in_sql("in_flight", "w.queue = %(queue)s", "true")),
    Mutant(
        "a worker counts its own",
        in_sql("count_in_flight", "count(*) FILTER (WHERE w.executor_id = %(executor)s)", "count(*)"),
    ),
    Mutant(
        "the null partition is one",
        in_sql("partitions_in_flight", "coalesce(w.partition_key, '')", "w.partition_key"),
    ),
    Mutant("busy groups wait", in_python(Usage, "busy", property(lambda self: {}, lambda self, value: None))),
    Mutant("expired rows do not run", in_every_statement("w.expires_at > statement_timestamp()", "true")),
    Mutant("a version runs its own", in_every_statement("w.app_version = %(version)s", "true")),
    Mutant(
        "windows join",
        in_sql(
            "read_past",
            "(%(rank)s::int, %(line)s::bigint)\n        ORDER",
            "(%(rank)s::int, %(line)s::bigint + 1)\n        ORDER",
        ),
    ),
    Mutant("a stretch is not the line", in_python(LineReader, "next_window", reads_stretches_as_ends)),
    Mutant("a part of the walk is not all", in_python(LineReader, "walk", takes_a_part_for_all)),
    Mutant("a key is not a partition", in_sql("read_past", "OR w.partition_key IS NOT NULL\n", "\n")),
    Mutant(
        "groups go on by rank",
        in_sql("read_groups", "(w.rank, w.group_line) > (seek.rank, seek.line)", "w.group_line > seek.line"),
    ),
    Mutant("starts are counted", in_python(WindowedClaim, "_count_starts", lambda self, runs: None)),
    Mutant("keys are counted as they are met", in_python(Meter, "_count_keys", lambda self, keys: False)),
    Mutant(
        "partitions are counted as they are met",
        in_python(Meter, "_count_partitions", lambda self, new: False),
    ),
    Mutant(
        "the head may carry a limit",
        in_sql("claim_head", "durable_limit AS l ON", "(SELECT '' AS key) AS l ON"),
    ),
    Mutant("a paused queue rests", in_sql("claim_head", "q.paused_at IS NULL", "true")),
    Mutant(
        "the fast path keeps the order", in_python(head_module, "in_rank_order", lambda runs: sorted(runs))
    ),
    Mutant("a claim leaves the line", in_sql("mark_claimed", "enqueued_xid = NULL, ", "")),
    Mutant("a claim counts itself", in_sql("mark_claimed", "claims = w.claims + 1", "claims = w.claims")),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_broken_rule_is_noticed(mutant, monkeypatch, db):
    mutant.break_it(monkeypatch)
    chosen = (is_wrong(world, read_in_smallest_parts, monkeypatch) for world in CHOSEN.values())
    at_random = (is_wrong(random_world(seed), small_parts_of(seed), monkeypatch) for seed in range(WORLDS))
    assert any(chain(chosen, at_random))


def small_parts_of(seed: int) -> Break:
    return lambda monkeypatch: read_in_small_parts(monkeypatch, random.Random(seed))


def is_wrong(world: QueueWorld, read_in_parts: Break, monkeypatch) -> bool:
    with monkeypatch.context() as parts:
        read_in_parts(parts)
        before = connection.savepoint()
        try:
            return differs(world)
        except (AssertionError, DatabaseError):
            return True
        finally:
            connection.savepoint_rollback(before)


def differs(world: QueueWorld) -> bool:
    world.load_limits()
    claimer = claimer_of(world)
    claimer.claim(HERE, 1)
    world.load_line()
    claims = claimer.claim(HERE, world.slots)
    assert_written(world, claims)
    return [run.id for run in claims.runs] != world.expected()
