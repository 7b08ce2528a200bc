"""What others' queues did to their users, tried on this one: lost wake-ups, lost arguments, burned attempts.

Each twice, as claims read from the head of the line and as they read behind positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from django_durable.claim import cursors
from django_durable.claim.claimer import Claimer
from django_durable.conf import settings
from django_durable.core.states import Status
from django_durable.models import Limit, Queue, WorkflowStatus, database
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
BEHIND_POSITIONS = {"CURSORS": "always", "FULL_DISCOVERY_INTERVAL": 3600}


@pytest.fixture(params=["never", "always"], autouse=True)
def _cursors(request: pytest.FixtureRequest) -> Iterator[None]:
    with override_settings(DURABLE={**BEHIND_POSITIONS, "CURSORS": request.param}):
        yield


def claimer() -> Claimer:
    return Claimer(uuid4(), "default")


def claimed(of: Claimer, slots: int = 10) -> list[str]:
    """As a worker does it: it claims where it found that there is work."""
    ready = of.queues_with_work(["default"])
    return [run.id for queue in ready for run in of.claim(queue, slots).runs]


def settle(workflow_id: str) -> None:
    WorkflowStatus.objects.filter(pk=workflow_id).update(
        status=Status.SUCCESS, claim_seq=None, claim_token=None, executor=None, completed_at=database.Clock()
    )


def give_back(ids: list[str]) -> None:
    rows = {row.id: row.claim_token for row in WorkflowStatus.objects.filter(pk__in=ids)}
    params = {"ids": [*rows], "tokens": [*rows.values()], "forgiven": 1}
    assert database.change("release", params, "default") == len(ids)


def peer() -> psycopg.Connection[Any]:
    return psycopg.connect(connection.connection.info.dsn)


@pytest.mark.parametrize("ends_first", [True, False])
def test_a_run_committed_while_the_limit_frees_is_claimed_by_the_next_poll(ends_first: bool) -> None:
    Limit.objects.create(key="one", max_running=1)
    worker = claimer()
    for _ in range(20):
        first = echo.using(limit_key="one").enqueue(1)
        assert claimed(worker) == [first.id]
        assert claimed(worker) == []
        with peer() as other:
            other.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            second = second_of(other, first.id)
            assert claimed(worker) == []
            if ends_first:
                settle(first.id)
                assert claimed(worker) == []
            other.commit()
        settle(first.id)
        assert claimed(worker) == [second]
        settle(second)


def second_of(other: psycopg.Connection[Any], first: str) -> str:
    """Enqueue its like in a transaction that stays open."""
    other.execute(COPY, [f"{first}-second", first])
    return f"{first}-second"


COPY = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival, limit_key,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    %s, name, 'ENQUEUED', queue, priority, place, place, place, pg_current_xact_id(),
    nextval('durable_arrival_seq'), limit_key, 0, max_attempts, 0, now(), now(), input, serialization,
    attributes, headers, false
FROM (SELECT *, nextval('durable_line_seq') AS place FROM durable_workflow_status WHERE id = %s) AS first
"""


def test_what_is_put_back_keeps_its_arguments_its_attempts_and_its_place() -> None:
    Queue.objects.filter(name="default").update(worker_concurrency=3)
    given = {"none": None, "word": "Grüße \U0001f600", "deep": {"list": [1, [2, {"three": 3.0}]]}}
    ids = [echo.enqueue({**given, "long": "x" * 100_000, "n": n}).id for n in range(9)]
    before = payloads()
    for turn in range(20):
        worker = claimer()
        taken = claimed(worker)
        assert taken == ids[:3]
        if turn % 2:
            Queue.objects.filter(name="default").pause()
            assert claimed(worker) == []
            Queue.objects.filter(name="default").unpause()
        give_back(taken[::-1])
    assert payloads() == before
    first = claimed(claimer())
    rows = WorkflowStatus.objects.in_bulk(first)
    assert first == ids[:3]
    assert {(row.attempt, row.claims) for row in rows.values()} == {(0, 1)}
    assert all(row.started_at is None for row in WorkflowStatus.objects.exclude(pk__in=first))


def payloads() -> dict[str, str]:
    rows = WorkflowStatus.objects.values_list("id", "input")
    return {workflow_id: sha256(text.encode()).hexdigest() for workflow_id, text in rows}


WHENS: dict[str, Callable[[datetime], datetime]] = {
    "the year 2": lambda now: datetime(2, 1, 1, tzinfo=UTC),
    "the year 1970": lambda now: datetime(1970, 1, 1, tzinfo=UTC),
    "a second ago": lambda now: now - timedelta(seconds=1),
    "now": lambda now: now,
    "in two hours": lambda now: now + timedelta(hours=2),
    "in 400 days": lambda now: now + timedelta(days=400),
    "the year 9000": lambda now: datetime(9000, 12, 31, tzinfo=UTC),
}


def test_what_is_delayed_is_not_claimed_before_it_is_due_and_what_is_past_keeps_its_order() -> None:
    now = now_there()
    runs = {name: echo.using(run_at=when(now)).enqueue() for name, when in WHENS.items()}
    worker = claimer()
    past = [run.id for name, run in runs.items() if WHENS[name](now) <= now]
    assert claimed(worker) == past
    database.change("promote", {"batch": 100, "refused": []}, "default")
    assert claimed(worker) == []
    late = WorkflowStatus.objects.filter(status=Status.DELAYED)
    assert set(late.values_list("id", flat=True)) == {run.id for run in runs.values()} - set(past)
    late.update(delay_until=database.Clock() - timedelta(milliseconds=1))
    database.change("promote", {"batch": 100, "refused": []}, "default")
    assert len(claimed(worker)) == len(runs) - len(past)


def now_there() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found


def test_nothing_is_claimed_before_its_transaction_commits_nor_after_it_is_undone() -> None:
    worker = claimer()
    assert claimed(worker) == []
    with peer() as other:
        template = echo.enqueue().id
        assert claimed(worker) == [template]
        kept = second_of(other, template)
        other.execute("SAVEPOINT before")
        other.execute(COPY, ["undone", template])
        assert claimed(worker) == []
        other.execute("ROLLBACK TO before")
        assert claimed(worker) == []
        other.commit()
    assert claimed(worker) == [kept]
    with transaction.atomic():
        echo.enqueue()
        transaction.set_rollback(True)
    assert claimed(worker) == []


def test_higher_numbers_go_first_negative_ones_last_and_equal_ones_in_their_order() -> None:
    priorities = [0, -100, 100, -1, 1, 0, 100]
    runs = [(echo.using(priority=priority).enqueue().id, priority) for priority in priorities]
    in_order = [workflow_id for workflow_id, _ in sorted(runs, key=lambda run: -run[1])]
    worker = claimer()
    assert [*claimed(worker, 4), *claimed(worker, 9)] == in_order


def test_a_version_that_becomes_the_newest_takes_what_it_had_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which of two versions takes unversioned rows may change while they stand in line."""
    clock = SimpleNamespace(monotonic=lambda: 1000.0)
    monkeypatch.setattr(cursors, "time", clock)
    mode = settings().cursors
    with override_settings(DURABLE={"CURSORS": mode, "APP_VERSION": "a"}):
        worker = claimer()
        worker.identity = replace(worker.identity, is_newest=False)
        run = echo.enqueue()
        WorkflowStatus.objects.update(app_version=None)
        assert [claimed(worker), claimed(worker)] == [[], []]
        worker.identity = replace(worker.identity, is_newest=True)
        clock.monotonic = lambda: 1000.0 + settings().full_discovery_interval
        assert claimed(worker) == [run.id]


def test_an_idle_poll_asks_as_much_for_a_hundred_queues_as_for_one() -> None:
    """Also where each had work once, in a thousand partitions."""
    names = [f"queue-{number}" for number in range(100)]
    Queue.objects.bulk_create([Queue(name=name, partition_concurrency=1) for name in names])
    for number in range(1000):
        echo.using(queue=names[number % 100], partition_key=f"p{number}").enqueue()
    worker = claimer()
    while ready := worker.queues_with_work(names):
        for queue in ready:
            for run in worker.claim(queue, 100).runs:
                settle(run.id)
    with CaptureQueriesContext(connection) as many:
        assert worker.queues_with_work(names) == []
    with CaptureQueriesContext(connection) as one:
        assert worker.queues_with_work(names[:1]) == []
    assert len(many) == len(one) <= 2


def test_a_follow_up_of_higher_priority_is_the_next_of_its_key() -> None:
    Limit.objects.create(key="db", max_running=1)
    runs = [echo.using(limit_key="db").enqueue(number).id for number in range(20)]
    worker = claimer()
    assert claimed(worker) == runs[:1]
    follow_up = echo.using(limit_key="db", priority=1).enqueue().id
    assert claimed(worker) == []
    settle(runs[0])
    assert claimed(worker) == [follow_up]
    settle(follow_up)
    assert claimed(worker) == runs[1:2]


def test_a_delayed_run_of_a_key_or_partition_holds_back_nobody() -> None:
    Limit.objects.create(key="k", max_running=1)
    Queue.objects.filter(name="default").update(partition_concurrency=1)
    worker = claimer()
    assert claimed(worker) == []
    echo.using(limit_key="k", partition_key="p", delay=timedelta(hours=1)).enqueue()
    ready = echo.using(limit_key="k", partition_key="p").enqueue()
    assert claimed(worker) == [ready.id]


def test_what_runs_elsewhere_takes_nothing_of_this_workers_concurrency() -> None:
    Queue.objects.filter(name="default").update(worker_concurrency=2)
    others, worker = claimer(), claimer()
    runs = [echo.enqueue(number).id for number in range(7)]
    assert claimed(others) == runs[:2]
    assert claimed(worker) == runs[2:4]
    assert claimed(worker) == claimed(others) == []


@pytest.mark.parametrize("fair", [True, False])
def test_groups_enqueued_in_one_transaction_each_keep_to_their_own_limit_and_order(fair: bool) -> None:
    Queue.objects.filter(name="default").update(fair=fair)
    Limit.objects.bulk_create([Limit(key=f"g{group}", max_running=2) for group in range(5)])
    with transaction.atomic():
        runs = {g: [echo.using(limit_key=f"g{g}").enqueue(n).id for n in range(20)] for g in range(5)}
    worker = claimer()
    first = claimed(worker, 50)
    assert sorted(first) == sorted(run for group in runs.values() for run in group[:2])
    if fair:
        assert first == [group[turn] for turn in range(2) for group in runs.values()]
    assert claimed(worker, 50) == []
    settle(runs[3][0])
    assert claimed(worker, 50) == [runs[3][2]]


def test_partitions_that_look_alike_are_different_and_each_keeps_its_limit() -> None:
    Queue.objects.filter(name="default").update(partition_concurrency=1)
    keys = ["None", "none", "a", "A", "0", "False", "\u00e9", "e\u0301", "x" * 200, None]
    runs = [[echo.using(partition_key=key).enqueue(number).id for key in keys] for number in range(2)]
    worker = claimer()
    assert claimed(worker, 50) == runs[0]
    assert claimed(worker, 50) == []
    for workflow_id in runs[0]:
        settle(workflow_id)
    assert claimed(worker, 50) == runs[1]
