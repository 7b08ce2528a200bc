"""A claim that fails leaves nothing behind; a claimer that knows a queue sees what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError

from django_durable.claim.claimer import Claimer
from django_durable.core.states import Status
from django_durable.models import Limit, Queue, RateStart, WorkflowStatus
from django_durable.signals import transition
from tests.factories import LimitFactory, QueueFactory
from tests.queue_world import HERE, Row, load_rows
from tests.races.stage import empty_tables


@pytest.fixture(autouse=True)
def claimer(transactional_db) -> Claimer:
    empty_tables()
    load_rows(Row(f"w{seq}", seq, key="k", partition="p") for seq in range(1, 5))
    return Claimer(uuid4(), "default")


def ids(claimer: Claimer, slots: int = 2) -> list[str]:
    return [run.id for run in claimer.claim(HERE, slots).runs]


@contextmanager
def failing_at(number: int) -> Iterator[list[str]]:
    """Let the statement of this number fail after it ran, as a lost connection would."""
    sent: list[str] = []

    def fail(execute: Any, text: str, *rest: Any) -> Any:
        sent.append(text)
        answer = execute(text, *rest)
        if len(sent) == number:
            raise OperationalError("the connection is lost")
        return answer

    with connection.execute_wrapper(fail):
        yield sent


def test_a_claim_that_fails_at_any_statement_takes_nothing_and_holds_nothing(claimer):
    QueueFactory(name=HERE, partition_concurrency=2, rate_limit=9, rate_period=timedelta(minutes=1))
    LimitFactory(key="k", max_running=3)
    taken: list[str] = []
    failures = 0
    while not taken:
        failures += 1
        with failing_at(failures), suppress(OperationalError):
            taken = ids(claimer)
            break
        assert not WorkflowStatus.objects.exclude(status=Status.ENQUEUED).exists()
        assert not RateStart.objects.exists()
    assert taken == ["w1", "w2"]
    assert failures > 5


def test_a_receiver_that_raises_undoes_the_claim(claimer):
    QueueFactory(name=HERE)

    def refuse(**_: Any) -> None:
        raise ValueError("not now")

    transition.connect(refuse)
    try:
        with pytest.raises(ValueError, match="not now"):
            claimer.claim(HERE, 2)
    finally:
        transition.disconnect(refuse)
    assert ids(claimer) == ["w1", "w2"]


def by_orm() -> None:
    Limit.objects.create(key="taken", max_running=1)


def by_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO durable_limit (key, max_running) VALUES ('taken', 1)")


@pytest.mark.parametrize("fail", [by_orm, by_sql])
def test_a_receiver_that_swallows_an_error_of_the_database_undoes_the_claim_and_is_told_of(claimer, fail):
    QueueFactory(name=HERE)
    LimitFactory(key="taken", max_running=1)

    def swallow(**_: Any) -> None:
        with suppress(IntegrityError):
            fail()

    transition.connect(swallow)
    try:
        with pytest.raises(TransactionManagementError, match="swallowed an error"):
            claimer.claim(HERE, 1)
    finally:
        transition.disconnect(swallow)
    assert not WorkflowStatus.objects.exclude(status=Status.ENQUEUED).exists()
    assert ids(claimer) == ["w1", "w2"]


def test_a_receiver_may_swallow_what_fails_in_an_atomic_of_its_own(claimer):
    QueueFactory(name=HERE)
    LimitFactory(key="taken", max_running=1)

    def swallow(**_: Any) -> None:
        with suppress(IntegrityError), transaction.atomic():
            by_orm()

    transition.connect(swallow)
    try:
        assert ids(claimer) == ["w1", "w2"]
    finally:
        transition.disconnect(swallow)
    assert WorkflowStatus.objects.filter(status=Status.PENDING).count() == 2


CHANGES = {
    "paused": ({"paused_at": "2026-01-01T00:00:00Z"}, []),
    "limited": ({"concurrency": 2}, ["w2"]),
    "limited by partition": ({"partition_concurrency": 2}, ["w2"]),
    "limited in each worker": ({"worker_concurrency": 3}, ["w2", "w3"]),
    "rated": ({"rate_limit": 1, "rate_period": timedelta(minutes=1)}, ["w2"]),
    "fair": ({"fair": True}, ["w2", "w3"]),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_claimer_that_knows_a_queue_sees_that_it_is_now(claimer, change, expected):
    QueueFactory(name=HERE)
    assert ids(claimer, slots=1) == ["w1"]
    Queue.objects.filter(name=HERE).update(**change)
    assert ids(claimer) == expected


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_claimer_that_knows_a_queue_sees_that_it_is_no_more(claimer, change, expected):
    QueueFactory(name=HERE, **change)
    claimer.claim(HERE, 1)
    Queue.objects.filter(name=HERE).update(**{name: False if name == "fair" else None for name in change})
    taken = 0 if change.get("paused_at") else 1
    assert ids(claimer, slots=4) == [f"w{seq}" for seq in range(1 + taken, 5)]


def test_a_limit_set_for_a_key_holds_from_the_next_claim(claimer):
    QueueFactory(name=HERE)
    assert ids(claimer, slots=1) == ["w1"]
    LimitFactory(key="k", max_running=2)
    assert ids(claimer) == ["w2"]
    Limit.objects.all().delete()
    assert ids(claimer) == ["w3", "w4"]
