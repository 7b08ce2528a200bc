"""Claims that got into each other's way wait for one another, and for nothing that does not come."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction

from django_durable.claim import claimer as claiming
from django_durable.claim.attempt import Attempt
from django_durable.claim.claimer import Claimer
from django_durable.core.states import Status
from django_durable.models import database
from django_durable.models.database import Clock
from tests.factories import LimitFactory, QueueFactory, WorkflowFactory
from tests.queue_world import HERE
from tests.race import Side
from tests.races.stage import empty_tables, held
from tests.races.test_claim_meetings import LOCK_LIMIT, LOCK_ROWS, ids, line

MEETINGS = {"a limit": (LOCK_LIMIT, "k"), "rows": (LOCK_ROWS, ["w1"])}


@pytest.fixture(autouse=True)
def keyed_line(transactional_db) -> None:
    empty_tables()
    QueueFactory(name=HERE)
    LimitFactory(key="k", max_running=3)
    line(*"kkkkkk")


@pytest.fixture
def peer() -> Iterator[Side]:
    """In the middle of a claim from the queue."""
    side = Side()
    side.begin()
    side.do(wait_for_peers)
    yield side
    side.close()


@pytest.fixture
def other() -> Iterator[Side]:
    side = Side()
    yield side
    side.close()


def wait_for_peers() -> None:
    database.fetch("wait_for_peers", {"queue": HERE, "patience": "10s"}, "default")


def after_meeting(*held_elsewhere: object) -> Claimer:
    claimer = Claimer(uuid4(), "default")
    with held(*held_elsewhere):
        claimer.claim(HERE, 1)
    return claimer


@pytest.mark.parametrize("meeting", MEETINGS)
def test_after_meeting_peers_a_claim_waits_for_the_next_one_and_reads_what_that_left(meeting, peer, other):
    claimer = after_meeting(*MEETINGS[meeting])
    before = set(ids(Claimer(uuid4(), "default").claim(HERE, 1)))
    waiting = other.blocked(claimer.claim, HERE, 9)
    peer.commit()
    taken = set(ids(waiting.result()))
    assert taken
    assert not taken & before


def test_a_claim_that_met_nobody_does_not_wait(peer):
    assert ids(Claimer(uuid4(), "default").claim(HERE, 1)) == ["w1"]


def test_a_peer_that_does_not_end_is_waited_for_once_and_then_passed_by(peer, monkeypatch):
    monkeypatch.setattr(claiming, "PATIENCE", 0.02)
    claimer = after_meeting(LOCK_LIMIT, "k")
    assert ids(claimer.claim(HERE, 1)) == ["w1"]
    assert not claimer.contention.waits(HERE)
    monkeypatch.setattr(claiming, "PATIENCE", 3600.0)
    assert ids(claimer.claim(HERE, 1)) == ["w2"]


def test_a_claim_that_holds_woken_runs_does_not_wait(peer):
    claimer = after_meeting(LOCK_LIMIT, "k")
    woken = WorkflowFactory.create(queue=HERE, status=Status.WAITING, wake_at=Clock())
    assert ids(claimer.claim(HERE, 2)) == [woken.id, "w1"]


def test_waiting_leaves_the_users_own_lock_timeout_in_force(transactional_db):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '7s'")
        wait_for_peers()
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone()[0] == "7s"


def test_a_lock_timeout_that_is_not_the_waits_is_raised(monkeypatch):
    line("k", queue="there", first=9)
    QueueFactory(name="there")
    claimer = Claimer(uuid4(), "default")

    def times_out(*_: object, **__: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1ms'")
            cursor.execute("SELECT FROM durable_queue WHERE name = %s FOR UPDATE", ["there"])

    monkeypatch.setattr(Attempt, "_take_woken_first", times_out)
    with (
        held("SELECT name FROM durable_queue WHERE name = %s FOR UPDATE", "there"),
        pytest.raises(OperationalError) as raised,
    ):
        claimer.claim("there", 1)
    assert raised.value.__cause__.sqlstate == "55P03"
