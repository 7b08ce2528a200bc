"""A deduplication id is held by one active run of a queue, and let go by every end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from django_durable import Cancel, Snooze, control, workflow
from django_durable.core.states import PARKED, Status
from django_durable.exceptions import Deduplicated
from django_durable.models import WorkflowStatus, database
from tests.drain import row
from tests.factories import QueueFactory
from tests.testapp.workflows import echo, two_steps

pytestmark = pytest.mark.django_db

once = echo.using(deduplication_id="k")


def test_a_second_run_is_refused_with_the_first_ones_id_and_the_transaction_stays_usable():
    first = once.enqueue("first")
    before = WorkflowStatus.objects.values().get()
    with pytest.raises(Deduplicated) as refused:
        once.enqueue("second")
    assert (refused.value.workflow_id, refused.value.queue) == (first.id, "default")
    assert WorkflowStatus.objects.values().get() == before
    echo.enqueue()


def test_or_the_first_is_returned_to_who_asks_for_that():
    first = once.enqueue("first")
    assert once.using(on_duplicate="return_existing").enqueue("second") == first
    assert WorkflowStatus.objects.count() == 1


def test_the_key_binds_runs_of_other_functions_too():
    first = once.enqueue()
    with pytest.raises(Deduplicated, match=first.id):
        two_steps.using(deduplication_id="k").enqueue()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b-c"), ("a-b", "c")),
        (("a", "b:c"), ("a:b", "c")),
        (("a", "b/c"), ("a/b", "c")),
        (("a", "b|c"), ("a|b", "c")),
        (("default", "k"), ("Default", "k")),
        (("default", "1"), ("default", "01")),
    ],
)
def test_keys_of_two_queues_never_meet(one, other):
    for queue, key in (one, other):
        echo.using(queue=queue, deduplication_id=key).enqueue()
    assert WorkflowStatus.objects.count() == 2


def test_runs_without_a_key_never_meet():
    echo.enqueue()
    echo.enqueue()
    assert WorkflowStatus.objects.count() == 2


def test_the_same_id_again_is_the_same_run_although_it_holds_the_key_itself():
    first = once.using(id="a").enqueue()
    assert once.using(id="a").enqueue() == first


def test_the_key_is_held_while_the_run_waits_runs_and_is_retried(drain):
    held = []

    @workflow(max_attempts=2)
    def body():
        held.append(WorkflowStatus.objects.filter(deduplication_id="k").count())
        with pytest.raises(Deduplicated):
            once.enqueue()
        raise ValueError("no")

    run = body.using(deduplication_id="k", delay=3600).enqueue()
    with pytest.raises(Deduplicated):
        once.enqueue()
    drain.hasten()
    drain()
    assert run.status == Status.DELAYED
    with pytest.raises(Deduplicated):
        once.enqueue()
    drain.hasten()
    drain()
    assert held == [1, 1]
    assert once.enqueue().status == Status.ENQUEUED


def test_a_run_that_is_put_back_in_line_never_conflicts_with_itself(drain):
    @workflow
    def body():
        if len(seen) < 3:
            seen.append(1)
            raise Snooze(1)

    seen = []
    run = body.using(deduplication_id="k").enqueue()
    for _ in range(4):
        drain()
        drain.hasten()
    assert run.status == Status.SUCCESS

    run = once.enqueue()
    drain.claim()
    drain.recover()
    drain()
    assert run.status == Status.SUCCESS


def succeed(drain):
    run = once.enqueue()
    drain()
    return run


def fail(drain):
    @workflow
    def body():
        raise ValueError

    run = body.using(deduplication_id="k").enqueue()
    drain()
    return run


def cancel_itself(drain):
    @workflow
    def body():
        raise Cancel

    run = body.using(deduplication_id="k").enqueue()
    drain()
    return run


def cancel_in_line(drain):
    run = once.enqueue()
    run.cancel()
    return run


def cancel_delayed(drain):
    run = once.using(delay=60).enqueue()
    run.cancel()
    return run


def cancel_running(drain):
    run = once.enqueue()
    drain.claim()
    run.cancel()
    return run


def expire(drain):
    run = once.using(expires_in=60).enqueue()
    WorkflowStatus.objects.filter(pk=run.id).update(expires_at=Now() - timedelta(seconds=1))
    database.fetch("expire", {"batch": 10, "error": "{}", "refused": []}, "default")
    return run


def time_out(drain):
    run = once.using(timeout=60).enqueue()
    drain.claim()
    WorkflowStatus.objects.filter(pk=run.id).update(deadline=Now() - timedelta(seconds=1))
    database.fetch("time_out", {"batch": 10, "error": "{}", "refused": []}, "default")
    return run


def park_in_the_runner(drain):
    run = once.enqueue()
    WorkflowStatus.objects.filter(pk=run.id).update(claims=101)
    drain()
    return run


def park_in_recovery(drain):
    run = once.enqueue()
    drain.claim()
    WorkflowStatus.objects.filter(pk=run.id).update(claims=102)
    drain.recover()
    return run


ENDS = {
    succeed: Status.SUCCESS,
    fail: Status.ERROR,
    cancel_itself: Status.CANCELLED,
    cancel_in_line: Status.CANCELLED,
    cancel_delayed: Status.CANCELLED,
    cancel_running: Status.CANCELLED,
    expire: Status.CANCELLED,
    time_out: Status.CANCELLED,
    park_in_the_runner: PARKED,
    park_in_recovery: PARKED,
}


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_every_end_lets_the_key_go_at_once(drain, end):
    run = end(drain)
    assert row(run).status == ENDS[end]
    assert row(run).deduplication_id is None
    assert once.enqueue().id != run.id


def test_a_run_that_is_resumed_or_retried_comes_back_without_its_key(drain):
    cancelled = cancel_in_line(drain)
    other = once.enqueue()
    cancelled.resume()
    drain()
    assert (row(cancelled).status, row(other).status) == (Status.SUCCESS, Status.SUCCESS)


def test_a_run_of_a_retired_version_answers_at_once_and_is_freed_by_its_cancel(drain):
    QueueFactory(name="mail")
    retired = once.using(app_version="v1").enqueue()
    with pytest.raises(Deduplicated) as refused:
        once.using(app_version="v2").enqueue()
    assert refused.value.workflow_id == retired.id
    retired.cancel()
    assert once.using(app_version="v2").enqueue().status == Status.ENQUEUED


def test_a_run_moved_to_a_queue_where_its_key_is_held_is_refused_and_stays():
    other = QueueFactory.create().name
    holder = once.using(queue=other).enqueue()
    run, free = once.enqueue(), echo.enqueue()
    for ids in ([run.id], [free.id, run.id]):
        with pytest.raises(Deduplicated) as refused:
            control.resume(ids, queue=other)
        assert (refused.value.workflow_id, refused.value.queue) == (holder.id, other)
    assert [each.record.queue for each in (run, free)] == ["default", "default"]
    holder.cancel()
    assert control.resume([run.id, free.id], queue=other) == [run.id, free.id]


def test_two_runs_with_one_key_are_not_moved_to_one_queue():
    one, other, target = (QueueFactory.create().name for _ in range(3))
    runs = [once.using(queue=queue).enqueue().id for queue in (one, other)]
    with pytest.raises(Deduplicated):
        control.resume(runs, queue=target)
    assert control.resume(runs[0], queue=target) == [runs[0]]
