"""Bodies that wait: they leave the worker, and come back when what they wait for is there."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F

from django_durable import (
    control,
    get_event,
    recv,
    retrieve,
    send,
    set_event,
    sleep,
    step,
    workflow,
    workflow_id,
)
from django_durable.core.states import Status
from django_durable.exceptions import InsideWorkflow, OutsideWorkflow, WorkflowNotFound
from django_durable.maintenance.waker import Waker
from django_durable.models import Message, Queue, StepOutput, WorkflowStatus, database

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def woken(drain):
    """Let an hour pass for everybody who waits, and run what wakes."""

    def wake():
        WorkflowStatus.objects.filter(status=Status.WAITING).update(wake_at=F("wake_at") - HOUR)
        for row in StepOutput.objects.filter(
            name__in=["durable.sleep", "durable.recv.timer", "durable.get_event.timer"]
        ):
            row.output = repr(float(row.output) - 3600)
            row.save()
        return drain()

    return wake


def test_a_long_sleep_leaves_the_worker_and_keeps_its_place_in_the_limits(drain):
    @workflow(name="sleeps")
    def sleeps():
        sleep(HOUR - timedelta(minutes=1))
        return "awake"

    run = sleeps.enqueue()
    drain()
    row = run.record
    assert (row.status, row.claim_token, row.executor_id, row.claims) == (Status.WAITING, None, None, 0)
    assert row.claim_seq is not None
    assert drain() == []


def test_a_sleeper_wakes_when_its_time_has_come_and_goes_on(drain, woken):
    hits = []

    @step
    def effect():
        hits.append(1)
        return "done"

    @workflow(name="sleeps")
    def sleeps():
        first = effect()
        sleep(HOUR - timedelta(minutes=1))
        return first

    run = sleeps.enqueue()
    drain()
    woken()
    assert run.result() == "done"
    assert hits == [1]


def test_the_wake_instant_is_recorded_before_the_wait(drain):
    @workflow(name="sleeps")
    def sleeps():
        sleep(HOUR)

    run = sleeps.enqueue()
    drain()
    recorded = StepOutput.objects.get(workflow_id=run.id)
    assert recorded.name == "durable.sleep"
    assert run.record.wake_at.timestamp() == pytest.approx(float(recorded.output), abs=1e-5)


@pytest.mark.parametrize("delay", [0, 0.01, timedelta(0)])
def test_a_short_sleep_stays(drain, delay):
    @workflow(name="naps")
    def naps():
        sleep(delay)
        return 1

    run = naps.enqueue()
    drain()
    assert run.result() == 1


def test_a_message_that_is_there_is_received_at_once(drain):
    @workflow(name="receives")
    def receives():
        return [recv("a"), recv("a"), recv("b")]

    run = receives.enqueue()
    send(run.id, 1, "a")
    send(run.id, None, "b")
    send(run.id, 2, "a")
    drain()
    assert run.result() == [1, 2, None]
    assert list(Message.objects.order_by("id").values_list("consumed_step", flat=True)) == [1, 5, 3]


def test_a_message_wakes_its_receiver(drain):
    @workflow(name="receives")
    def receives():
        return recv("packed", timeout=HOUR)

    run = receives.enqueue()
    drain()
    assert run.record.wait_topic == "message packed"
    send(run.id, "other", "elsewhere")
    assert drain() == []
    send(run.id, {"parcel": 7}, "packed")
    drain()
    assert run.result() == {"parcel": 7}


def test_a_receiver_without_timeout_waits_for_ever_and_wakes(drain):
    @workflow(name="receives")
    def receives():
        return recv()

    run = receives.enqueue()
    drain()
    assert run.record.wake_at is None
    send(run.id, 3)
    drain()
    assert run.result() == 3


def test_a_receiver_gets_none_after_its_timeout_and_a_replay_too(drain, woken):
    @workflow(name="receives")
    def receives():
        got = recv("x", timeout=HOUR - timedelta(minutes=1))
        later = recv("y", timeout=HOUR)
        return [got, later]

    run = receives.enqueue()
    drain()
    woken()
    send(run.id, "late", "x")
    send(run.id, "in time", "y")
    drain()
    assert run.result() == [None, "in time"]


def test_a_message_with_the_same_key_arrives_once(drain):
    @workflow(name="receives")
    def receives():
        return [recv("a"), recv("a", timeout=0)]

    run = receives.enqueue()
    send(run.id, 1, "a", idempotency_key="k")
    send(run.id, 2, "a", idempotency_key="k")
    drain()
    assert run.result() == [1, None]


def test_a_message_to_nobody_is_refused_and_the_transaction_goes_on():
    with pytest.raises(WorkflowNotFound):
        send("nobody", 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def test_a_send_inside_a_body_is_recorded_and_not_repeated(drain, woken):
    @workflow(name="receives")
    def receives():
        return [recv("a"), recv("a", timeout=0)]

    receiver = receives.enqueue()

    @workflow(name="sends")
    def sends():
        send(receiver.id, 1, "a")
        sleep(HOUR - timedelta(minutes=1))

    drain()
    sender = sends.enqueue()
    drain()
    woken()
    assert sender.status == Status.SUCCESS
    assert Message.objects.filter(workflow_id=receiver.id).count() == 1
    assert receiver.result() == [1, None]


def test_the_error_of_a_send_is_recorded_like_any_step_error(drain):
    @workflow(name="sends")
    def sends():
        try:
            send("nobody", 1)
        except WorkflowNotFound as error:
            return str(error)

    run = sends.enqueue()
    drain()
    assert "nobody" in run.result()
    assert StepOutput.objects.get(workflow_id=run.id).error is not None


def test_an_event_is_read_outside_and_wakes_who_waits_for_it(drain):
    @workflow(name="publishes")
    def publishes():
        set_event("stage", "first")
        recv("go")
        set_event("stage", "second")
        set_event("end", 1)

    @workflow(name="watches")
    def watches(target):
        return [get_event(target, "stage"), get_event(target, "end")]

    publisher = publishes.enqueue()
    drain()
    assert get_event(publisher.id, "stage") == "first"
    assert get_event(publisher.id, "nothing") is None
    watcher = watches.enqueue(publisher.id)
    drain()
    assert watcher.record.wait_topics == [f"event {publisher.id} end", f"run {publisher.id}"]
    send(publisher.id, None, "go")
    drain()
    assert watcher.result() == ["first", 1]
    assert get_event(publisher.id, "stage") == "second"


def test_an_event_that_never_comes_is_none_after_the_timeout(drain, woken):
    @workflow(name="watches")
    def watches():
        return get_event("not-there-yet", "stage", timeout=HOUR - timedelta(minutes=1))

    run = watches.enqueue()
    drain()
    assert run.status == Status.WAITING
    woken()
    assert run.result() is None


def test_an_event_set_inside_a_step_is_kept_with_the_number_of_the_step(drain):
    @step
    def publish():
        set_event("progress", 50)

    @workflow(name="publishes")
    def publishes():
        publish()

    run = publishes.enqueue()
    drain()
    assert get_event(run.id, "progress") == 50
    assert run.record.event_history.get().step == 1


@pytest.mark.parametrize("call", [lambda: sleep(1), lambda: recv("a"), lambda: set_event("a", 1)])
def test_what_needs_a_body_is_refused_outside(call):
    with pytest.raises(OutsideWorkflow):
        call()


def test_a_run_of_a_queue_where_waiting_holds_no_slot_gives_its_place_back(drain, woken):
    Queue.objects.create(name="loose", waiting_holds_slot=False, concurrency=1)

    @workflow(name="sleeps", queue="loose")
    def sleeps():
        sleep(HOUR - timedelta(minutes=1))
        return workflow_id()

    first, second = sleeps.enqueue(), sleeps.enqueue()
    place = first.record.seq
    drain()
    assert [first.status, second.status] == [Status.WAITING, Status.WAITING]
    assert first.record.claim_seq is None
    waker = Waker("default")
    assert not waker.run_once().queues
    woken()
    assert waker.run_once().queues == {"loose": 2}
    assert (first.status, first.record.seq) == (Status.ENQUEUED, place)
    drain()
    assert [first.result(), second.result()] == [first.id, second.id]


def test_a_run_that_waits_keeps_the_only_slot_of_its_queue(drain, woken):
    Queue.objects.create(name="tight", concurrency=1)

    @workflow(name="sleeps", queue="tight")
    def sleeps():
        sleep(HOUR - timedelta(minutes=1))

    first, second = sleeps.enqueue(), sleeps.enqueue()
    drain()
    assert [first.status, second.status] == [Status.WAITING, Status.ENQUEUED]
    woken()
    assert [first.status, second.status] == [Status.SUCCESS, Status.WAITING]


def test_a_wait_swallowed_by_the_body_still_ends_the_execution(drain):
    @workflow(name="swallows")
    def swallows():
        with suppress(BaseException):
            sleep(HOUR)
        return "went on"

    run = swallows.enqueue()
    drain()
    assert run.status == Status.WAITING


def test_a_message_taken_again_after_a_lost_answer_is_the_same_one(drain):
    @workflow(name="receives")
    def receives():
        return recv("a")

    run = receives.enqueue()
    send(run.id, "first", "a")
    send(run.id, "second", "a")
    (claimed,) = drain.claim()
    params = {"id": run.id, "token": claimed.token, "topic": "a", "step": 1, "name": "durable.recv"}
    answers = [database.fetch("take_message", params, "default") for _ in range(2)]
    assert answers[0] == answers[1] == [(True, '"first"', "json")]
    assert Message.objects.filter(consumed_step=None).count() == 1


def test_a_status_read_in_a_body_is_recorded(drain):
    @workflow(name="watched")
    def watched():
        recv()

    @workflow(name="watches")
    def watches(target):
        before = retrieve(target).status
        recv("go on")
        return before

    target = watched.enqueue()
    drain()
    run = watches.enqueue(target.id)
    drain()
    target.cancel()
    send(run.id, None, "go on")
    drain()
    assert run.result() == Status.WAITING


def test_a_listing_in_a_body_is_refused(drain):
    @workflow(name="lists")
    def lists():
        control.counts()

    run = lists.enqueue()
    drain()
    with pytest.raises(InsideWorkflow):
        run.result()


def test_a_retry_of_the_whole_begins_a_failed_wait_anew(drain, woken):
    @workflow(name="child")
    def child():
        recv()

    @workflow(name="parent", max_attempts=2, backoff=lambda *_: 0)
    def parent():
        return child.enqueue().result(timeout=HOUR - timedelta(minutes=1))

    run = parent.enqueue()
    drain()
    StepOutput.objects.filter(name="durable.result.timer").update(output="1")
    WorkflowStatus.objects.filter(pk=run.id).update(wake_at=F("created_at"))
    drain()
    assert (run.status, run.record.attempt) == (Status.DELAYED, 1)
    assert list(StepOutput.objects.filter(workflow_id=run.id).values_list("step", flat=True)) == [1]
    drain.hasten()
    drain()
    assert run.status == Status.WAITING
