"""Limits that are edited while real workers run: nothing that runs is touched, the next claim knows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from django_durable.core.states import Status
from django_durable.models import Limit, Queue
from tests.lifecycle.workers import are_all, open_gate, until
from tests.testapp.lifecycle_workflows import gated
from tests.testapp.models import Probe


def entered() -> int:
    return Probe.objects.filter(ev="enter").count()


def have_entered(count: int) -> Callable[[], bool]:
    return lambda: entered() == count


@pytest.mark.parametrize(
    ("set_to", "clear"),
    [
        (lambda most: Queue.objects.set("default", concurrency=most), lambda: Queue.objects.clear("default")),
        (lambda most: Limit.objects.set("gate", max_running=most), lambda: Limit.objects.clear("gate")),
    ],
    ids=["queue", "key"],
)
def test_an_edit_reaches_the_workers_that_run(start, set_to, clear):
    set_to(1)
    for _ in range(6):
        gated.using(limit_key="gate").enqueue("g")
    workers = [start(), start()]
    for most in (1, 3):
        set_to(most)
        until(have_entered(most))
    set_to(2)
    assert sum(len(worker.owned()) for worker in workers) == 3
    clear()
    until(have_entered(6))
    open_gate("g")
    until(are_all(Status.SUCCESS))
    assert [worker.stop() for worker in workers] == [0, 0]


@pytest.mark.parametrize(
    ("limit", "more"),
    [
        (
            partial(Queue.objects.set, "seldom", concurrency=1),
            lambda: Queue.objects.set("seldom", concurrency=2),
        ),
        (partial(Queue.objects.set, "seldom", concurrency=1), lambda: Queue.objects.clear("seldom")),
        (partial(Limit.objects.set, "gate", max_running=1), lambda: Limit.objects.clear("gate")),
        (partial(Limit.objects.set, "gate", max_running=1), lambda: Limit("gate", 2).save()),
    ],
    ids=["queue set", "queue cleared", "key cleared", "key saved"],
)
def test_room_that_an_edit_makes_is_used_before_its_queue_is_due(start, limit, more):
    Queue.objects.set("seldom", polling_interval=3600)
    limit()
    worker = start().says("registered")
    for _ in range(2):
        gated.using(queue="seldom", limit_key="gate").enqueue("g")
    until(have_entered(1))
    more()
    until(have_entered(2))
    open_gate("g")
    until(are_all(Status.SUCCESS))
    assert worker.stop() == 0
