"""What a rate counted and was no start: runs that are put back before anything of them was done."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from django_durable import sleep, step, workflow
from django_durable.claim.claimer import Claimer
from django_durable.core.run import Run
from django_durable.maintenance.release import release
from django_durable.models import Limit, Queue, RateStart, WorkflowStatus
from django_durable.worker.slots.returns import Returns
from tests.drain import Drain
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


@pytest.fixture
def claimer() -> Claimer:
    return Claimer(uuid4(), "default")


@pytest.fixture
def drain() -> Drain:
    return Drain()


@pytest.fixture(params=["queue", "partition", "key"], autouse=True)
def _three_an_hour(request: pytest.FixtureRequest) -> None:
    match request.param:
        case "queue":
            Queue.objects.set("default", rate_limit=3, rate_period=HOUR)
        case "partition":
            Queue.objects.set("default", partition_rate_limit=3, partition_rate_period=HOUR)
        case "key":
            Limit.objects.set("k", max_starts=3, per=HOUR)


def enqueued(count: int) -> list[str]:
    return [echo.using(limit_key="k", partition_key="p").enqueue(number).id for number in range(count)]


def claimed(claimer: Claimer, slots: int = 9) -> list[Run]:
    return claimer.claim("default", slots).runs


def test_runs_given_back_unbegun_leave_their_rate_to_those_that_start(claimer: Claimer) -> None:
    ids = enqueued(5)
    taken = claimed(claimer)
    assert len(taken) == 3
    release(taken[1:], "default", unbegun=taken[1:])
    assert RateStart.objects.count() == 1
    assert [run.id for run in claimed(claimer)] == ids[1:3]
    assert claimed(claimer) == []


def test_runs_that_began_and_are_given_back_have_started(claimer: Claimer) -> None:
    enqueued(5)
    returns = Returns("default")
    taken = claimed(claimer)
    returns.hand_over(taken[2:])
    returns.take_away(taken[:2])
    returns.tick()
    assert returns.released == 3
    assert RateStart.objects.count() == 2
    assert len(claimed(claimer)) == 1


def test_code_that_is_not_here_uses_up_no_rate(drain: Drain) -> None:
    here, gone = enqueued(3), enqueued(2)
    WorkflowStatus.objects.filter(pk__in=gone).update(name="gone.app", priority=5)
    for _ in range(4):
        drain.hasten()
        runs = drain.claim(slots=2)
        assert sorted(run.id for run in runs) == sorted(gone)
        for run in runs:
            drain.run(run)
    assert not RateStart.objects.exists()
    drain()
    assert WorkflowStatus.objects.filter(pk__in=here, status="SUCCESS").count() == 3


def test_a_start_that_is_not_its_own_is_left_alone(claimer: Claimer) -> None:
    """As where the rate came while the run was under way: others have started since."""
    enqueued(2)
    (first,) = claimed(claimer, 1)
    RateStart.objects.all().delete()
    claimed(claimer, 1)
    release([first], "default", unbegun=[first])
    assert RateStart.objects.count() == 1


def test_who_lost_its_run_takes_back_no_start(claimer: Claimer) -> None:
    enqueued(1)
    mine = claimed(claimer)
    release(mine, "default")
    claimed(claimer)
    release(mine, "default", unbegun=mine)
    assert RateStart.objects.count() == 2


@step
def said(word: str) -> str:
    return word


@workflow(name="starts.napper")
def napper() -> str:
    sleep(3600)
    return said("awake")


def test_a_run_that_woke_had_started_long_before(drain: Drain) -> None:
    run = napper.using(limit_key="k", partition_key="p").enqueue()
    drain()
    assert RateStart.objects.count() == 1
    WorkflowStatus.objects.filter(pk=run.id).update(wake_at=WorkflowStatus.objects.get(pk=run.id).created_at)
    other = enqueued(1)
    runs = drain.claim()
    assert sorted(r.id for r in runs) == sorted([run.id, *other])
    release(runs, "default", unbegun=[r for r in runs if r.id == run.id])
    assert RateStart.objects.count() == 2


def test_what_started_before_there_was_a_rate_counts_for_none(claimer: Claimer) -> None:
    Queue.objects.set("free", concurrency=9)
    for number in range(3):
        echo.using(queue="free").enqueue(number)
    assert len(claimer.claim("free", 1).runs) == 1
    Queue.objects.set("free", rate_limit=1, rate_period=HOUR)
    assert len(claimer.claim("free", 2).runs) == 1
    assert claimer.claim("free", 1).runs == []
