"""Two people who set one limit at once, and a claim that counts it meanwhile."""

from __future__ import annotations

from uuid import uuid4

import pytest

from django_durable.claim.claimer import Claimer
from django_durable.models import Limit, Queue
from tests.race import Race
from tests.testapp.workflows import echo


def test_a_limit_that_two_make_at_once_is_one_with_what_both_said(race: Race) -> None:
    with race.holding(Limit.objects.set, "k", max_running=3):
        second = race.blocked(Limit.objects.set, "k", max_starts=5, per=60)
    assert second.result().max_running == 3
    limit = Limit.objects.get()
    assert (limit.max_running, limit.max_starts) == (3, 5)


@pytest.mark.parametrize("commits", [True, False])
def test_an_edit_waits_for_another_and_stands_upon_it(race: Race, commits: bool) -> None:
    Queue.objects.set("q", concurrency=5)
    with race.holding(Queue.objects.set, "q", concurrency=2, commits=commits):
        second = race.blocked(Queue.objects.set, "q", fair=True)
    second.result()
    queue = Queue.objects.get(name="q")
    assert (queue.concurrency, queue.fair) == (2 if commits else 5, True)


def test_a_claim_does_not_wait_for_an_edit_and_takes_nothing_of_its_key(race: Race) -> None:
    Limit.objects.set("k", max_running=5)
    echo.using(limit_key="k").enqueue_many([((n,), {}) for n in range(3)])
    free = echo.using(limit_key="other").enqueue()
    worker, claimer = race.side(), Claimer(uuid4(), "default")

    def claim() -> list[str]:
        return [run.id for run in claimer.claim("default", 10).runs]

    with race.holding(Limit.objects.set, "k", max_running=1):
        assert worker.do(claim) + worker.do(claim) == [free.id]  # it gives way once, then takes what it may
    assert len(worker.do(claim)) == 1
