"""Counts begin at the oldest run in flight: never behind one, and not in the graveyard before it.

Random histories of claimers, of claims that know of no limit and stay open, and of limits that come and go;
each look is made as soon as it can be, so that the oldest follows as closely as the rules allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_durable import sql
from django_durable.claim import numbers
from django_durable.claim.claimer import Claimer, Claims
from django_durable.claim.numbers import Numbers
from django_durable.core.planning.budget import limit_bucket, queue_bucket
from django_durable.core.planning.oldest import FROM_NOTHING, Oldest
from django_durable.models import Limit, Queue, WorkflowStatus
from tests.benchmarks.pinned import END, buffers, end, hold_snapshot
from tests.database.test_cursors import ALWAYS, History, differences
from tests.mutants import Mutant, in_sql
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)

HISTORIES = range(40)
QUEUE = "default"
DEAD = 20_000
FEW = 400  # buffers of a claim that takes one row; its counts alone would walk some 1 900 of the graveyard


@pytest.fixture(autouse=True)
def _each_claim_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "EVERY", 0.0)


class Counted(History):
    """A history in which queues have budgets too, and runs wait; what a count would miss is noted."""

    def run(self, length: int) -> None:
        steps = [self.enqueue, self.enqueue, self.hold, self.hold, self.end_a_peer, self.end_a_peer]
        steps += [self.settle, self.settle, self.requeue, self.wait, self.restart, self.fail_a_claim]
        rare = [self.edit_limits, self.edit_budget]
        for _ in range(length):
            self.dice.choice(self.dice.choice([steps, steps, [self.claim], rare]))()
            self.compare()

    def claim(self) -> None:
        self.dice.choice(self.claimers).claim(self.queue.name, self.dice.randint(1, 4))

    def wait(self) -> None:
        """Some keep their slot, and may be woken at once."""
        for run in self._running(2):
            columns = {
                "ids": [run.id],
                "tokens": [run.claim_token],
                "wakes": [timezone.now()],
                "topics": [None],
                "several": [None],
            }
            self._execute("suspend", columns)

    def edit_budget(self) -> None:
        name = self.dice.choice(["concurrency", "worker_concurrency", "partition_concurrency"])
        setattr(self.queue, name, self.dice.choice([None, 2, 5]))
        self.queue.waiting_holds_slot = self.dice.random() < 0.7
        self.queue.fair = self.dice.random() < 0.3
        self.queue.save()

    def edit_limits(self) -> None:
        """A key is limited in what runs, or in what starts alone, or not at all."""
        key = self.dice.choice("ab")
        Limit.objects.filter(key=key).delete()
        limits = [{"max_running": 2}, {"max_starts": 50, "window": timedelta(seconds=1)}, None]
        if (chosen := self.dice.choice(limits)) is not None:
            Limit.objects.create(key=key, **chosen)

    def compare(self) -> None:
        in_flight = WorkflowStatus.objects.filter(claim_seq__isnull=False)
        for queue, key, number in in_flight.values_list("queue", "limit_key", "claim_seq"):
            for claimer in self.claimers:
                oldest = claimer.numbers._oldest
                if number < oldest.of(queue_bucket(queue)) or (key and number < oldest.of(limit_bucket(key))):
                    self.differences.append(f"no count sees {number} of {queue}, {key}")


def missed(seeds: range) -> list[str]:
    for seed in seeds:
        history = Counted(seed)
        with override_settings(DURABLE=ALWAYS):
            try:
                history.run(60)
            finally:
                history.dismiss_peers()
        WorkflowStatus.objects.all().delete()
        Limit.objects.all().delete()
        if history.differences:
            return history.differences
    return []


def test_no_run_in_flight_is_behind_the_oldest():
    assert missed(HISTORIES) == []


def test_what_is_counted_from_the_oldest_on_is_what_ranking_the_whole_queue_counts():
    assert differences(range(200, 240)) == []


MUTANTS = [
    Mutant("open claims are seen", in_sql("claims_under_way", "RowExclusiveLock", "ShareLock")),
    Mutant(
        "what was not counted is not known", in_sql("limit_rooms", "l.max_running IS NOT NULL, r", "true, r")
    ),
    Mutant("the lowest number counts", in_sql("limit_rooms", "running.first", "NULL::bigint")),
    Mutant("the lowest of a queue counts", in_sql("count_in_flight", "min(w.claim_seq)", "max(w.claim_seq)")),
    Mutant("the lowest of all groups counts", in_sql("in_flight", "min(w.claim_seq)", "max(w.claim_seq)")),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_broken_rule_is_noticed(mutant, monkeypatch):
    mutant.break_it(monkeypatch)
    assert missed(range(200))


def test_a_claim_that_knew_of_no_limit_counts_once_it_is_committed():
    """It drew its number before the limit was made, and is committed after counts that could not see it."""
    claimer = Claimer(uuid4(), "default")
    slow, *others = (echo.using(limit_key="k").enqueue().id for _ in range(6))
    with unlimited_claim([slow]) as peer:
        Limit.objects.create(key="k", max_running=2)
        for quick in others[:3]:
            assert ids(claimer.claim(QUEUE, 5)) == [quick]
            end([quick])
        peer.commit()
    assert ids(claimer.claim(QUEUE, 5)) == others[3:4]


def test_a_transaction_that_only_reads_the_sequence_holds_nothing_back():
    """A dump does, and holds its locks for hours."""
    dump = connection.copy()
    with dump.cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT last_value FROM durable_claim_seq")
        assert known_of_ten().look().of("a") > FROM_NOTHING + 1
    dump.close()


def test_nothing_is_learned_inside_a_transaction_that_may_undo_what_ended():
    looked = Numbers("default")
    with transaction.atomic():
        looked.look().note("a", None)
        assert looked.look().of("a") == FROM_NOTHING


def test_nothing_is_remembered_from_one_connection_to_the_next():
    known = known_of_ten()
    assert known.look().of("a") > FROM_NOTHING
    connection.close()
    assert known.look().of("a") == FROM_NOTHING


def test_nothing_is_remembered_of_a_sequence_that_was_set_back():
    known = known_of_ten()
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('durable_claim_seq', last_value - 1) FROM durable_claim_seq")
    assert known.look().of("a") == FROM_NOTHING


def test_nothing_is_remembered_of_a_sequence_whose_sessions_keep_numbers_for_later():
    known = known_of_ten()
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE durable_claim_seq CACHE 5")
        try:
            assert known.look().of("a") == FROM_NOTHING
        finally:
            cursor.execute("ALTER SEQUENCE durable_claim_seq CACHE 1")


def test_a_look_is_made_once_a_while(monkeypatch):
    monkeypatch.setattr(numbers, "EVERY", 3600.0)
    known = Numbers("default")
    with CaptureQueriesContext(connection) as sent:
        for _ in range(5):
            known.look()
    assert len(sent) == 2


SHAPES = {
    "a queue's concurrency": {"concurrency": 5},
    "a worker's": {"worker_concurrency": 5},
    "turns": {"fair": True},
    "partitions": {"partition_concurrency": 5},
    "a key over all queues": {},
}


@pytest.mark.parametrize("limits", SHAPES.values(), ids=SHAPES)
def test_a_graveyard_is_walked_by_the_first_counts_alone(limits):
    with graveyard(limits), override_settings(DURABLE=ALWAYS):
        touched = buffers_of_claims()
    assert max(touched[3:]) < FEW < max(touched[:3]), touched


def test_without_the_oldest_each_claim_walks_it(monkeypatch):
    monkeypatch.setattr(Oldest, "of", lambda self, bucket: FROM_NOTHING)
    with graveyard({"concurrency": 5}), override_settings(DURABLE=ALWAYS):
        assert min(buffers_of_claims()) > FEW


def buffers_of_claims() -> list[int]:
    """What each of some claims touches that takes one row, which ends at once."""
    claimer = Claimer(uuid4(), "default")
    touched = []
    for _ in range(6):
        run = echo.using(limit_key="k").enqueue()
        before = buffers()
        assert ids(claimer.claim(QUEUE, 2)) == [run.id]
        touched.append(buffers() - before)
        end([run.id])
    return touched


@contextmanager
def graveyard(limits: dict[str, Any]) -> Iterator[None]:
    """Runs that were claimed and ended while a snapshot is held."""
    Queue.objects.filter(name=QUEUE).update(**limits)
    Limit.objects.create(key="k", max_running=5)
    pin = connection.copy()
    try:
        with connection.cursor() as cursor:
            cursor.execute(LOAD_RUNNING, [DEAD])
            hold_snapshot(pin)
            cursor.execute(END)
            cursor.execute("VACUUM ANALYZE durable_workflow_status")
        yield
    finally:
        pin.close()


@contextmanager
def unlimited_claim(chosen: list[str]) -> Iterator[psycopg.Connection[Any]]:
    """A claim that has marked rows without looking at any limit, and is not committed."""
    peer = psycopg.connect(connection.connection.info.dsn, cursor_factory=psycopg.ClientCursor)
    mine = {"ids": chosen, "queue": QUEUE, "executor": uuid4(), "token": uuid4()}
    try:
        peer.execute(sql.load("mark_claimed"), {**mine, "version": None, "newest": True})
        yield peer
    finally:
        peer.close()


def known_of_ten() -> Numbers:
    """Of numbers that ten draws went up to, each over."""
    known = Numbers("default")
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('durable_claim_seq') FROM generate_series(1, 10)")
    known.look().note("a", None)
    return known


def ids(claims: Claims) -> list[str]:
    return [run.id for run in claims.runs]


LOAD_RUNNING = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, claim_seq, claim_token, executor_id, limit_key, started_at,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    'dead' || i, 'testapp.echo', 'PENDING', 'default', 0, nextval('durable_claim_seq'),
    gen_random_uuid(), gen_random_uuid(), 'k', now(),
    0, 1, 1, now(), now(), '[[], {}]', 'json', '{}', '{}', false
FROM generate_series(1, %s) AS i
"""
