"""A parent keeps a place of its queue from its own children, and is told so."""

from __future__ import annotations

import logging
from uuid import uuid4

import pytest

from django_durable import control, gather, sleep, workflow
from django_durable.core.states import Status
from django_durable.maintenance.waker import Waker
from tests.factories import QueueFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["called", "started and awaited", "gathered"])
def nested(request):
    """A parent and its child in queues given."""

    @workflow(name="child")
    def child():
        return "done"

    @workflow(name="parent")
    def parent(queue):
        given = child.using(queue=queue)
        if request.param == "called":
            return given()
        started = given.enqueue()
        return started.result() if request.param == "started and awaited" else gather(started)[0]

    return parent


def warnings(caplog):
    return [each.getMessage() for each in caplog.records if "wait for ever" in each.getMessage()]


def test_a_parent_in_a_queue_of_one_waits_for_ever_and_a_warning_says_so_once(drain, nested, caplog):
    queue = QueueFactory(name=f"one {uuid4()}", concurrency=1).name
    with caplog.at_level(logging.WARNING, "django_durable.enqueue"):
        runs = [nested.using(queue=queue).enqueue(queue)]
        drain(queue)
        assert runs[0].status == Status.WAITING
        runs[0].cancel(cascade=True)
        runs.append(nested.using(queue=queue).enqueue(queue))
        drain(queue)
    assert len(warnings(caplog)) == 1
    assert repr(queue) in warnings(caplog)[0]
    assert [each.status for each in control.list_workflows(parent=runs[1].id)] == [Status.ENQUEUED]


@pytest.mark.parametrize("way_out", ["another queue", "waiting_holds_slot=False"])
def test_either_way_out_of_it_lets_the_parent_end_without_a_warning(drain, nested, caplog, way_out):
    holds = way_out == "another queue"
    own = QueueFactory(name=f"one {uuid4()}", concurrency=1, waiting_holds_slot=holds).name
    other = QueueFactory(name=f"two {uuid4()}", concurrency=1).name if holds else own
    with caplog.at_level(logging.WARNING, "django_durable.enqueue"):
        run = nested.using(queue=own).enqueue(other)
        for _ in range(3):
            Waker("default").run_once()
            drain(own)
            drain(other)
    assert run.result() == "done"
    assert warnings(caplog) == []


def test_who_waits_for_none_of_its_children_is_not_warned(drain, caplog):
    @workflow(name="walker")
    def walker(left):
        if left:
            walker.using(queue=queue).enqueue(left - 1)
            sleep(3600)

    queue = QueueFactory(name=f"one {uuid4()}", concurrency=2).name
    with caplog.at_level(logging.WARNING, "django_durable.enqueue"):
        run = walker.using(queue=queue).enqueue(2)
        drain(queue)
    assert run.status == Status.WAITING
    assert warnings(caplog) == []
