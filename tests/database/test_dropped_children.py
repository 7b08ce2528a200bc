"""A call that a retry or a rewind drops leaves its child alone; the call in its place starts its own."""

from __future__ import annotations

import pytest

from django_durable import gather, recv, send, step, workflow
from django_durable.core.states import Status
from django_durable.engine.launching import launcher
from django_durable.engine.launching.own_ids import free_ids
from django_durable.models import WorkflowStatus
from django_durable.testing import fail_step
from tests.factories import WorkflowFactory

pytestmark = pytest.mark.django_db


@step
def charge():
    return "charged"


@pytest.fixture
def told():
    return []


@pytest.fixture
def tell(told):
    @workflow(name="tell")
    def tell(what):
        told.append(what)
        return f"told {what}"

    return tell


@pytest.fixture
def refund(told):
    @workflow(name="refund")
    def refund():
        told.append("refund")

    return refund


@pytest.fixture
def strangers(monkeypatch):
    """Ids that strangers take as soon as an enqueue_many has found them free."""
    ids: list[str] = []

    def found_free(*asked):
        found = free_ids(*asked)
        while ids:
            WorkflowFactory.create(id=ids.pop())
        return found

    monkeypatch.setattr(launcher, "free_ids", found_free)
    return ids


def children(run):
    found = WorkflowStatus.objects.filter(parent=run.id).order_by("created_at", "id")
    return [each.id.removeprefix(run.id) for each in found]


def again(drain, body, by_order):
    """Run it to its failure, and again once the cause is gone."""
    with fail_step(charge, ValueError("declined")):
        run = body.using(max_attempts=1 if by_order else 2).enqueue()
        drain()
    if by_order:
        run.retry()
    for _ in range(3):
        drain.hasten()
        drain()
    return run


by_order = pytest.mark.parametrize("by_order", [False, True], ids=["by itself", "by order"])


@by_order
def test_a_child_of_another_function_at_the_number_of_a_dropped_one_is_started(
    drain, told, tell, refund, by_order
):
    @workflow(name="order")
    def order():
        try:
            charge()
        except ValueError:
            refund()
            raise
        return tell("paid")

    run = again(drain, order, by_order)
    assert run.result() == "told paid"
    assert told == ["refund", "paid"]
    assert children(run) == ["-2", "-2.2"]


@by_order
def test_a_child_of_the_same_function_is_started_with_its_own_arguments(drain, told, tell, by_order):
    @workflow(name="order")
    def order():
        try:
            charge()
        except ValueError:
            tell("failed")
            raise
        return tell.enqueue("paid").id

    run = again(drain, order, by_order)
    assert run.result() == f"{run.id}-2.2"
    assert told == ["failed", "paid"]


@by_order
def test_many_children_are_started_anew_with_their_own_arguments(drain, told, tell, by_order):
    @workflow(name="order")
    def order():
        try:
            charge()
        except ValueError:
            tell.enqueue_many([(("failed",), {}), (("sorry",), {})])
            raise
        return gather(*tell.enqueue_many([((each,), {}) for each in ("paid", "sent", "bye")]))

    run = again(drain, order, by_order)
    assert run.result() == ["told paid", "told sent", "told bye"]
    assert told == ["failed", "sorry", "paid", "sent", "bye"]
    assert children(run) == ["-2-1", "-2-2", "-2.2-1", "-2.2-2", "-2.2-3"]


def test_a_grandchild_of_a_dropped_child_is_not_taken_for_one_of_many(drain, told, tell):
    @workflow(name="asks")
    def asks():
        return tell("below")

    @workflow(name="order")
    def order():
        try:
            charge()
        except ValueError:
            asks()
            raise
        return gather(*tell.enqueue_many([(("paid",), {})]))

    run = again(drain, order, by_order=True)
    assert run.result() == ["told paid"]
    assert told == ["below", "paid"]


def test_a_dropped_child_that_still_waits_goes_on_by_itself(drain):
    @workflow(name="asks")
    def asks(what):
        return what, recv()

    @workflow(name="order")
    def order():
        try:
            charge()
        except ValueError:
            asks.enqueue("failed")
            raise
        return asks("paid")

    run = again(drain, order, by_order=True)
    assert children(run) == ["-2", "-2.2"]
    send(f"{run.id}-2.2", "new")
    send(f"{run.id}-2", "old")
    drain()
    assert run.result() == ("paid", "new")
    assert WorkflowStatus.objects.get(pk=f"{run.id}-2").status == Status.SUCCESS


def test_a_rewound_call_starts_a_child_with_the_arguments_of_now(drain, told, tell):
    numbers = iter(range(9))

    @step
    def number():
        return next(numbers)

    @workflow(name="order")
    def order():
        return tell(number())

    run = order.enqueue()
    drain()
    for _ in range(3):
        run.rewind(1)
        drain()
    assert run.result() == "told 3"
    assert told == [0, 1, 2, 3]
    assert children(run) == ["-2", "-2.2", "-2.3", "-2.4"]


@pytest.mark.parametrize(("pinned", "calls"), [(None, ["first", "second"]), ("mine", ["first", "first"])])
def test_a_failed_child_goes_on_only_if_the_call_will_find_it_again(drain, pinned, calls):
    seen = []

    @workflow(name="fails")
    def fails(what):
        seen.append(what)
        if len(seen) == 1:
            raise ValueError(what)
        return what

    words = iter(["first", "second"])

    @step
    def word():
        return next(words)

    @workflow(name="order")
    def order():
        what = word()
        return fails(what) if pinned is None else fails.using(id=pinned)(what)

    run = order.enqueue()
    drain()
    assert run.status == Status.ERROR
    run.rewind(1)
    drain()
    assert run.result() == calls[-1]
    assert seen == calls


def test_a_replay_finds_the_child_that_took_the_place_of_a_dropped_one(drain, tell):
    @workflow(name="order")
    def order():
        first = tell("x")
        return first, recv()

    run = order.using(id="o").enqueue()
    drain()
    run.cancel()
    run.rewind(1)
    drain()
    send("o", "go")
    drain()
    assert run.result() == ("told x", "go")
    assert children(run) == ["-1", "-1.2"]


def test_a_run_that_takes_the_id_of_a_deleted_one_starts_children_of_its_own(drain, told, tell):
    @workflow(name="order")
    def order(what):
        return tell(what)

    run = order.using(id="o").enqueue("old")
    drain()
    run.delete()
    run = order.using(id="o").enqueue("new")
    drain()
    assert run.result() == "told new"
    assert told == ["old", "new"]


def test_children_of_calls_dropped_hundreds_of_times_are_passed_over_in_few_looks(
    drain, tell, django_assert_max_num_queries
):
    @workflow(name="order")
    def order():
        return tell("x")

    run = order.using(id="o").enqueue()
    for time in ["", *(f".{number}" for number in range(2, 351))]:
        WorkflowFactory(id=f"o-1{time}", name=tell.name, status=Status.SUCCESS)
    with django_assert_max_num_queries(80):
        drain()
    assert run.result() == "told x"
    assert children(run) == ["-1.351"]


def test_an_id_that_a_stranger_takes_just_now_is_left_to_it(drain, tell, told, strangers):
    @workflow(name="parent")
    def parent():
        return gather(*tell.enqueue_many([((each,), {}) for each in "abc"]))

    strangers.append("order-7-1-2")
    run = parent.using(id="order-7").enqueue()
    drain()
    assert run.result() == ["told a", "told b", "told c"]
    assert children(run) == ["-1.2-1", "-1.2-2", "-1.2-3"]
    assert sorted(told) == ["a", "b", "c"]
    assert WorkflowStatus.objects.get(pk="order-7-1-2").parent_id is None
