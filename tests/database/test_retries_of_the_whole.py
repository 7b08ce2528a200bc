"""A failed run goes on from what led to its end: that and what came after is done again."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import pytest
from django.db.models import F

from django_durable import agather, control, gather, recv, send, set_event, step, workflow, write_stream
from django_durable.core.states import Status
from django_durable.engine.handle import Handle
from django_durable.exceptions import ChildCancelled, WorkflowFailed
from django_durable.models import Message, StepOutput, StreamEntry, WorkflowStatus
from tests.drain import row
from tests.factories import StepFactory, WorkflowFactory

WHOLE = ["by itself", "by order"]


class Unpaid(Exception):
    pass


class Shop:
    """Steps that count their calls, and fail as long as they are told to."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.broken: set[str] = set()

    def __call__(self, name):
        @step(name=name)
        def act():
            self.calls[name] += 1
            if name in self.broken:
                raise Unpaid(name)
            return name

        return act

    def later(self, name):
        @step(name=name)
        async def act():
            self.calls[name] += 1
            if name in self.broken:
                raise Unpaid(name)
            return name

        return act


@pytest.fixture
def shop():
    return Shop()


@pytest.fixture(params=WHOLE)
def again(request, drain):
    """Run it to its first end, mend what was broken, and let it be retried."""

    def again(body, shop, *args):
        by_itself = request.param == "by itself"
        run = body.using(max_attempts=2 if by_itself else 1).enqueue(*args)
        drain()
        assert run.status == (Status.DELAYED if by_itself else Status.ERROR)
        shop.broken.clear()
        if not by_itself:
            run.retry()
        for _ in range(3):
            drain.hasten()
            drain()
        return run

    return again


def names(run):
    return list(StepOutput.objects.filter(workflow_id=run.id, step__gt=0).values_list("name", flat=True))


def test_steps_that_cleaned_up_after_the_failure_are_dropped_with_it(again, shop):
    reserve, charge, refund, ship = map(shop, ("reserve", "charge", "refund", "ship"))

    @workflow
    def body():
        reserve()
        try:
            charge()
        except Unpaid:
            refund()
            raise
        return ship()

    shop.broken = {"charge"}
    assert again(body, shop).result() == "ship"
    assert shop.calls == {"reserve": 1, "charge": 2, "refund": 1, "ship": 1}


@pytest.mark.parametrize("how", ["from", "within", "group"])
def test_the_failure_behind_the_bodys_own_error_is_found(again, shop, how):
    charge, ring, ship = map(shop, ("charge", "ring", "ship"))

    @workflow
    def body():
        try:
            charge()
        except Unpaid as error:
            ring()
            if how == "from":
                raise RuntimeError("no order") from error
            if how == "group":
                raise ExceptionGroup("no order", [ValueError("other"), error]) from None
            raise RuntimeError("no order")  # noqa: B904  # the context is what is tried
        return ship()

    shop.broken = {"charge"}
    assert again(body, shop).result() == "ship"
    assert shop.calls == {"charge": 2, "ring": 1, "ship": 1}


def test_a_failure_that_the_body_dealt_with_stays_and_so_does_what_it_did_instead(again, shop):
    card, invoice, ship = map(shop, ("card", "invoice", "ship"))

    @workflow
    def body():
        try:
            paid = card()
        except Unpaid:
            paid = invoice()
        return paid, ship()

    shop.broken = {"card", "ship"}
    assert again(body, shop).result() == ("invoice", "ship")
    assert shop.calls == {"card": 1, "invoice": 1, "ship": 2}


def test_failures_that_were_only_collected_are_done_again(again, shop):
    steps = [shop(name) for name in ("first", "second", "third")]

    @workflow
    def body():
        done, missing = [], 0
        for each in steps:
            try:
                done.append(each())
            except Unpaid:
                missing += 1
        if missing:
            raise RuntimeError(f"{missing} are missing")
        return done

    shop.broken = {"second", "third"}
    assert again(body, shop).result() == ["first", "second", "third"]
    assert shop.calls == {"first": 1, "second": 2, "third": 2}


def test_an_error_of_the_bodys_own_after_a_success_drops_nothing(again, shop):
    card, invoice = map(shop, ("card", "invoice"))
    tries = []

    @workflow
    def body():
        try:
            card()
        except Unpaid:
            invoice()
        tries.append(1)
        if len(tries) == 1:
            raise RuntimeError("a slip of the body")
        return "done"

    shop.broken = {"card"}
    assert again(body, shop).result() == "done"
    assert shop.calls == {"card": 1, "invoice": 1}


@pytest.mark.parametrize("grouped", [False, True])
def test_steps_that_ran_beside_the_failed_one_are_not_run_again(again, shop, grouped):
    left, middle, right, last = (shop.later(name) for name in ("left", "middle", "right", "last"))

    @workflow
    async def body():
        if grouped:
            async with asyncio.TaskGroup() as tasks:
                for each in (left, middle, right):
                    tasks.create_task(each())
        else:
            results = await asyncio.gather(left(), middle(), right(), return_exceptions=True)
            if any(isinstance(result, Unpaid) for result in results):
                raise RuntimeError("not whole")
        return await last()

    shop.broken = {"left"}
    assert again(body, shop).result() == "last"
    expected = {"left": 2, "middle": 1, "right": 1, "last": 1}
    if grouped:  # the group cancels what had not begun
        assert (shop.calls["left"], shop.calls["last"]) == (2, 1)
    else:
        assert shop.calls == expected


@pytest.fixture
def child(shop):
    prepare, fire = shop("prepare"), shop("fire")

    @workflow(name="again.child")
    def child(number=1):
        prepare()
        return fire(), number

    return child


def test_a_child_that_failed_goes_on_from_its_own_step_that_failed(again, shop, child):
    before, after = shop("before"), shop("after")

    @workflow
    def parent():
        before()
        return child(), after()

    shop.broken = {"fire"}
    run = again(parent, shop)
    assert run.result() == (("fire", 1), "after")
    assert shop.calls == {"before": 1, "prepare": 1, "fire": 2, "after": 1}
    assert WorkflowStatus.objects.filter(parent=run.id).count() == 1


def test_a_childs_child_goes_on_too(again, shop, child):
    @workflow(name="again.middle")
    def middle():
        return child()

    @workflow
    def parent():
        return middle()

    shop.broken = {"fire"}
    assert again(parent, shop).result() == ("fire", 1)
    assert shop.calls == {"prepare": 1, "fire": 2}


@pytest.mark.parametrize("is_async", [False, True])
def test_all_children_that_failed_together_go_on_and_the_others_are_kept(again, shop, is_async):
    fire = shop("fire")

    @workflow(name="again.one")
    def one(number):
        shop.calls[f"body {number}"] += 1
        if number == 2:
            return "kept"
        return fire()

    @workflow
    def blocking():
        return gather(*one.enqueue_many([((number,), {}) for number in (1, 2, 3)]))

    @workflow
    async def awaiting():
        return await agather(*await one.aenqueue_many([((number,), {}) for number in (1, 2, 3)]))

    shop.broken = {"fire"}
    assert again(awaiting if is_async else blocking, shop).result() == ["fire", "kept", "fire"]
    assert shop.calls["body 2"] == 1
    assert shop.calls["fire"] == 4


def test_a_child_begins_again_no_sooner_than_its_parent(drain, shop, child):
    @workflow(max_attempts=2, backoff=lambda attempt, error: 60)
    def parent():
        return child()

    shop.broken = {"fire"}
    run = parent.enqueue()
    drain()
    row_of_child = WorkflowStatus.objects.get(parent=run.id)
    assert row_of_child.status == Status.DELAYED
    assert row_of_child.delay_until - row(run).updated_at == pytest.approx(
        timedelta(minutes=1), abs=timedelta(seconds=2)
    )


def test_a_child_that_was_cancelled_stays_so_until_it_is_resumed(drain, shop, child):
    @workflow
    def parent():
        return child()

    run = parent.enqueue()
    drain.run(*drain.claim())
    own = Handle(WorkflowStatus.objects.get(parent=run.id).id)
    own.cancel()
    drain()
    for _ in range(2):
        with pytest.raises((ChildCancelled, WorkflowFailed)):
            run.result()
        run.retry()
        drain()
        assert own.status == Status.CANCELLED
    own.resume()
    drain()
    run.retry()
    drain()
    assert run.result() == ("fire", 1)


def test_a_run_of_somebody_else_is_not_begun_again(drain, shop, child):
    shop.broken = {"fire"}
    other = child.enqueue()
    drain()

    @workflow
    def waits():
        return Handle(other.id).result()

    run = waits.enqueue()
    drain()
    run.retry()
    drain()
    assert (run.status, other.status, shop.calls["fire"]) == (Status.ERROR, Status.ERROR, 1)


def test_the_deadline_of_a_child_is_again_its_parents(drain, shop, child):
    @workflow(timeout=3600, max_attempts=2)
    def parent():
        return child.using(timeout=60)()

    shop.broken = {"fire"}
    run = parent.enqueue()
    drain()
    own = WorkflowStatus.objects.get(parent=run.id)
    assert own.deadline == row(run).deadline
    assert own.timeout == timedelta(minutes=1)


def test_what_the_dropped_steps_received_published_and_streamed_is_taken_back(again, shop):
    charge, cleanup = shop("charge"), shop("cleanup")

    @workflow
    def body():
        set_event("stage", "begun")
        try:
            charge()
        except Unpaid:
            set_event("stage", "broken")
            write_stream("log", "broken")
            told = recv("advice", timeout=0)
            cleanup()
            raise RuntimeError(told) from None
        write_stream("log", "whole")
        return recv("advice", timeout=0)

    shop.broken = {"charge"}
    waiting = body.using(id="given", delay=3600).enqueue()
    send("given", "stay calm", "advice")
    waiting.cancel()
    WorkflowStatus.objects.filter(pk="given").update(max_attempts=1)
    waiting.resume()
    again_from(waiting, shop)
    assert waiting.result() == "stay calm"
    assert [entry.value for entry in StreamEntry.objects.order_by("position")] == ['"whole"']
    assert Message.objects.get().consumed_step is not None
    assert control.handle("given").record.steps.filter(name="cleanup").count() == 0


def again_from(run, shop):
    from tests.drain import Drain

    drain = Drain()
    drain()
    assert run.status == Status.ERROR
    shop.broken.clear()
    run.retry()
    drain()


def test_a_failure_recorded_without_its_origin_is_dropped_where_no_success_followed(drain, shop):
    charge = shop("charge")

    @workflow(name="again.old")
    def body():
        try:
            return charge()
        except Unpaid:
            return "recorded"

    runs = [WorkflowFactory(id=name, name=body.name, status=Status.ERROR, error="{}") for name in ("a", "b")]
    for run in runs:
        StepFactory(workflow=run, step=1, name="charge", output=None, error="{}")
    StepFactory(workflow=runs[1], step=2, name="more")
    WorkflowStatus.objects.update(created_at=F("created_at") - timedelta(hours=1))
    assert sorted(control.retry(["a", "b"])) == ["a", "b"]
    assert names(runs[0]) == []
    assert names(runs[1]) == ["charge", "more"]


@pytest.mark.parametrize("attempt", [400, 10_000, 2**31 - 3])
def test_a_run_that_failed_countless_times_still_gets_a_next_time(drain, attempt):
    @workflow(max_attempts=1_000_000)
    def body():
        raise Unpaid

    run = body.enqueue()
    WorkflowStatus.objects.update(attempt=attempt, max_attempts=2**31 - 1)
    drain()
    assert row(run).status == Status.DELAYED
    assert row(run).delay_until - row(run).updated_at <= timedelta(hours=1, seconds=1)


def test_a_rewind_lets_a_failed_child_go_on(drain, shop, child):
    @workflow
    def parent():
        return child()

    shop.broken = {"fire"}
    run = parent.enqueue()
    drain()
    shop.broken.clear()
    run.rewind(2)
    drain()
    assert run.result() == ("fire", 1)
