"""Two claims meet in a chosen order; what a peer holds is left to it, and no limit is passed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from psycopg import IsolationLevel

from django_durable.claim.claimer import Claimer, Claims
from django_durable.core.states import Status
from django_durable.models import Limit, Queue, RateStart, WorkflowStatus
from tests.factories import LimitFactory, QueueFactory
from tests.queue_world import HERE, Row, load_rows
from tests.races.stage import Stage, empty_tables, held

LOCK_ROWS = "SELECT id FROM durable_workflow_status WHERE id = ANY(%s) FOR UPDATE"
LOCK_LIMIT = "SELECT key FROM durable_limit WHERE key = %s FOR UPDATE"
LOCK_QUEUE = "SELECT name FROM durable_queue WHERE name = %s FOR UPDATE"


def line(*keys: str | None, queue: str = HERE, partition: str | None = None, first: int = 1) -> None:
    """Rows in line: w1, w2, … with these limit keys."""
    load_rows(
        Row(id=f"w{seq}", seq=seq, key=key, queue=queue, partition=partition)
        for seq, key in enumerate(keys, start=first)
    )


def claim(queue: str = HERE, slots: int = 2) -> Claims:
    return Claimer(uuid4(), "default").claim(queue, slots)


def ids(claims: Claims) -> list[str]:
    return [run.id for run in claims.runs]


def running(**filters: object) -> int:
    return WorkflowStatus.objects.filter(status=Status.PENDING, **filters).count()


@pytest.fixture(autouse=True)
def stage(transactional_db) -> Iterator[Stage]:
    empty_tables()
    stage = Stage()
    yield stage
    stage.close()


def test_a_peer_between_count_and_lock_does_not_carry_a_limit_beyond_itself(stage):
    QueueFactory(name=HERE)
    LimitFactory(key="k", max_running=2)
    line("k", "k", "k", "k")
    stage.enter("late", claim)
    stage.run_to("late", "lock_limits")
    assert ids(claim()) == ["w1", "w2"]
    stage.finish()
    assert ids(stage.results["late"]) == []
    assert running(limit_key="k") == 2


def test_a_rate_counted_before_a_peer_claimed_is_counted_again_behind_the_lock(stage):
    QueueFactory(name=HERE)
    LimitFactory(key="k", max_running=None, max_starts=3, window=timedelta(minutes=1))
    line(*"kkkkkk")
    stage.enter("late", claim)
    stage.run_to("late", "lock_limits")
    claim()
    stage.finish()
    assert ids(stage.results["late"]) == ["w3"]
    assert RateStart.objects.count() == 3


def test_a_queue_is_counted_only_once_its_row_is_held(stage):
    QueueFactory(name=HERE, concurrency=2)
    line(None, None, None, None)
    stage.enter("late", claim)
    stage.run_to("late", "lock_queue")
    claim()
    stage.finish()
    assert ids(stage.results["late"]) == []
    assert running() == 2


def test_a_queue_that_a_peer_holds_ends_the_claim_and_says_so(stage):
    QueueFactory(name=HERE, concurrency=5)
    line(None, None)
    claimer = Claimer(uuid4(), "default")
    with held(LOCK_QUEUE, HERE):
        for _ in "first", "again":
            claims = claimer.claim(HERE, 2)
            assert claims.peer_at_work
            assert ids(claims) == []
    assert ids(claimer.claim(HERE, 2)) == ["w1", "w2"]


def test_a_queue_that_was_deleted_is_not_taken_for_held_for_ever():
    QueueFactory(name=HERE, concurrency=5)
    claimer = Claimer(uuid4(), "default")
    claimer.claim(HERE, 1)
    Queue.objects.all().delete()
    claimer.claim(HERE, 1)
    assert not claimer.claim(HERE, 1).peer_at_work


def test_a_queue_without_limits_of_its_own_is_claimed_while_a_user_edits_it():
    QueueFactory(name=HERE, fair=True, worker_concurrency=2)
    line(None, None, None)
    with held(LOCK_QUEUE, HERE):
        assert ids(claim()) == ["w1", "w2"]


def test_a_key_that_a_peer_holds_waits_for_the_next_claim_and_the_others_do_not():
    QueueFactory(name=HERE)
    for key in "ab":
        LimitFactory(key=key, max_running=9)
    line("a", "b", "a", "b")
    with held(LOCK_LIMIT, "a"):
        claims = claim()
    assert ids(claims) == ["w2", "w4"]
    assert claims.peer_at_work
    assert ids(claim()) == ["w1", "w3"]


def test_a_limit_edited_meanwhile_holds_from_the_next_claim_and_keeps_none_waiting():
    QueueFactory(name=HERE)
    LimitFactory(key="k", max_running=3)
    line(*"kkk")
    edit = "UPDATE durable_limit SET max_running = 1 WHERE key = %s"
    with held(edit, "k"):
        assert ids(claim()) == []
    Limit.objects.update(max_running=1)
    assert ids(claim()) == ["w1"]


def test_keys_met_in_opposite_orders_do_not_deadlock(stage):
    for queue in "there", HERE:
        QueueFactory(name=queue)
    for key in "ab":
        LimitFactory(key=key, max_running=1)
    line("a", "b")
    line("b", "a", queue="there", first=3)
    stage.enter("one", lambda: claim(HERE))
    stage.enter("two", lambda: claim("there"))
    for _ in range(30):
        stage.step("one")
        stage.step("two")
    stage.finish()
    taken = ids(stage.results["one"]) + ids(stage.results["two"])
    assert len(taken) == 2 == running()
    assert max(running(limit_key="a"), running(limit_key="b")) == 1


def test_a_held_row_keeps_its_place_and_its_share_of_the_limits():
    QueueFactory(name=HERE, concurrency=2)
    line(None, None, None, None)
    with held(LOCK_ROWS, ["w1"]):
        assert ids(claim(slots=4)) == ["w2"]  # the one that holds w1 is about to run it
    assert ids(claim(slots=4)) == ["w1"]


def test_a_held_row_keeps_its_turn(stage):
    QueueFactory(name=HERE, fair=True)
    line("a", "a", "b", "b")
    with held(LOCK_ROWS, ["w1"]):
        assert ids(claim()) == ["w3", "w2"]


def test_a_row_that_is_gone_leaves_its_place_to_the_next(stage):
    QueueFactory(name=HERE, concurrency=2)
    line(None, None, None)
    stage.enter("late", claim)
    stage.run_to("late", "mark_claimed")
    WorkflowStatus.objects.filter(id="w1").delete()
    stage.finish()
    assert ids(stage.results["late"]) == ["w2", "w3"]


def test_a_row_that_a_peer_claimed_meanwhile_is_not_claimed_again(stage):
    QueueFactory(name=HERE, fair=True)
    line("a", "b", "c")
    stage.enter("late", claim)
    stage.run_to("late", "mark_claimed")
    assert ids(claim(slots=1)) == ["w1"]
    stage.finish()
    assert ids(stage.results["late"]) == ["w2", "w3"]
    assert list(WorkflowStatus.objects.order_by("id").values_list("claims", flat=True)) == [1, 1, 1]


def test_two_claims_of_one_fair_queue_share_it_without_gaps(stage):
    QueueFactory(name=HERE, fair=True)
    line(*"aabbcc")
    stage.enter("late", claim)
    stage.run_to("late", "mark_claimed")
    stage.enter("early", claim)
    stage.run_to("early", "no such statement")
    stage.finish()
    assert ids(stage.results["early"]) == ["w1", "w3"]
    assert ids(stage.results["late"]) == ["w5", "w2"]


def test_what_a_claim_does_not_take_is_not_locked(stage):
    QueueFactory(name=HERE, rate_limit=2, rate_period=timedelta(minutes=1))
    line(*[None] * 50)
    stage.enter("claimer", lambda: claim(slots=20))
    stage.run_to("claimer", "record_starts")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT FROM durable_workflow_status FOR UPDATE SKIP LOCKED) AS free"
        )
        assert cursor.fetchone() == (48,)
    stage.finish()


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_limits_hold_whatever_the_isolation_of_the_connection(stage, level):
    QueueFactory(name=HERE)
    LimitFactory(key="k", max_running=1)
    line("k", "k")

    def strictly() -> Claims:
        connection.ensure_connection()
        connection.connection.isolation_level = level
        return claim()

    stage.enter("late", strictly)
    stage.run_to("late", "lock_limits")
    claim()
    stage.finish()
    assert ids(stage.results["late"]) == []
    assert running() == 1


def test_a_claim_inside_a_transaction_is_refused():
    from django.db import transaction

    QueueFactory(name=HERE)
    with transaction.atomic(), pytest.raises(RuntimeError):
        claim()
