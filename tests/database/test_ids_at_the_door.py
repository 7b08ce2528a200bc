"""What every door that takes runs, queues or columns makes of one alone, of a handle, and of the rest."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync

from django_durable import (
    aread_stream,
    control,
    gather,
    get_event,
    read_stream,
    recv,
    retrieve,
    send,
    send_many,
    wait_first,
    workflow,
)
from django_durable.control import Filters
from django_durable.core.states import Status
from django_durable.engine.handle import Handle
from django_durable.exceptions import InvalidIdentifier, InvalidOption, PayloadTooLarge
from django_durable.models import AppVersion, Message, Queue
from tests.factories import WorkflowFactory

pytestmark = pytest.mark.django_db

VERBS = {
    "cancel": (control.cancel, Status.ENQUEUED),
    "resume": (control.resume, Status.CANCELLED),
    "retry": (control.retry, Status.ERROR),
    "rewind": (lambda ids: control.rewind(ids, to_step=1), Status.SUCCESS),
    "fork": (control.fork, Status.SUCCESS),
    "delete": (control.delete, Status.SUCCESS),
    "set_delay": (lambda ids: control.set_delay(ids, delay=60), Status.ENQUEUED),
    "set_priority": (lambda ids: control.set_priority(ids, 3), Status.ENQUEUED),
    "set_attributes": (lambda ids: control.set_attributes(ids, {"a": 1}), Status.ENQUEUED),
}
NO_IDS = [None, 5, True, b"ab", [None], [1], ["a", 1], {"a": 1}.items(), [["a"]]]


@pytest.mark.parametrize("form", ["id", "handle", "ids", "handles"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_takes_one_alone_and_handles(verb, form):
    act, status = VERBS[verb]
    run = WorkflowFactory.create(status=status)
    one = run.id if form.startswith("id") else Handle(run.id)
    changed = act([one] if form.endswith("s") else one)
    assert len(changed) == 1
    assert verb == "fork" or changed == [run.id]


@pytest.mark.parametrize("given", NO_IDS, ids=repr)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_refuses_what_is_no_id_in_words(verb, given):
    with pytest.raises(InvalidIdentifier, match="workflow id must be a text"):
        VERBS[verb][0](given)


@pytest.mark.parametrize("given", [None, 5, b"ab", ["a"]])
@pytest.mark.parametrize(
    "door",
    [
        retrieve,
        control.handle,
        control.replay,
        Handle,
        lambda given: send(given, 1),
        lambda given: send_many([given], 1),
        lambda given: get_event(given, "key"),
        lambda given: next(read_stream(given, "key")),
        lambda given: gather(given),
        lambda given: wait_first(given),
    ],
)
def test_a_door_for_one_run_refuses_what_is_no_id_in_words(door, given):
    with pytest.raises(InvalidIdentifier, match="workflow id must be a text or a handle"):
        door(given)


def test_a_door_for_one_run_takes_its_handle(drain):
    @workflow(name="listens")
    def listens():
        return recv()

    run = listens.enqueue()
    assert retrieve(run) == control.handle(run) == run
    assert get_event(run, "key") is None
    send(run, 1)
    send_many(run, 2)
    send_many([run, run.id], 3)
    assert Message.objects.filter(workflow_id=run.id).count() == 3
    drain()
    assert list(read_stream(run, "key")) == []
    assert gather(run, run.id) == [1, 1]
    assert wait_first(run.id) == wait_first(run) == run
    assert control.replay(run).fits


@pytest.mark.parametrize("name", ["ids", "parent", "forked_from"])
def test_a_filter_for_runs_takes_handles(name):
    other = WorkflowFactory.create()
    run = WorkflowFactory.create(
        **{
            "ids": {},
            "parent": {"parent_id": other.id, "parent_step": 1},
            "forked_from": {"forked_from": other.id},
        }[name]
    )
    meant = Handle(run.id if name == "ids" else other.id)
    for given in (meant, [meant], meant.id, [meant.id]):
        assert [row.id for row in control.list_workflows(**{name: given})] == [run.id]


@pytest.mark.parametrize(
    "filters",
    [
        {"name": 5},
        {"name": [5]},
        {"queue": [None]},
        {"parent": 5},
        {"ids": b"ab"},
        {"id_prefix": 5},
        {"status": 1},
    ],
    ids=repr,
)
def test_a_filter_that_is_no_text_is_refused_by_its_name(filters):
    with pytest.raises(InvalidOption, match=next(iter(filters))):
        control.list_workflows(**filters)


@pytest.mark.parametrize("count", ["limit", "offset"])
def test_a_filter_beyond_what_can_be_counted_is_refused(count):
    assert control.list_workflows(**{count: 10**18}) == []
    with pytest.raises(InvalidOption, match=count):
        control.list_workflows(**{count: 2**70})


def test_runs_are_counted_by_one_column_alone():
    WorkflowFactory.create(status=Status.SUCCESS)
    assert control.counts(by="status") == control.counts(by=["status"]) == {Status.SUCCESS: 1}
    with pytest.raises(InvalidOption, match="what to count by"):
        control.counts(by=())


def test_one_queue_alone_is_paused_and_let_go_on():
    assert (control.pause("default"), control.pause(["default"])) == (1, 0)
    assert Queue.objects.get(name="default").paused_at is not None
    assert (control.unpause("default"), control.unpause("default")) == (1, 0)


@pytest.mark.parametrize("turn", [control.pause, control.unpause])
def test_a_queue_that_is_not_there_is_told_and_the_others_stay_as_they_are(turn):
    Queue.objects.create(name="paused")
    Queue.objects.filter(name="paused").pause()
    with pytest.raises(Queue.DoesNotExist, match="no queue 'nope'"):
        turn(["default", "paused", "nope"])
    assert Queue.objects.get(name="default").paused_at is None
    assert Queue.objects.get(name="paused").paused_at is not None


@pytest.mark.parametrize("given", [None, 5, [None], [5]])
def test_what_is_no_queue_name_is_refused_in_words(given):
    with pytest.raises(InvalidIdentifier, match="queue name"):
        control.pause(given)


def test_a_version_that_is_not_there_is_told_with_those_that_are(drain):
    with pytest.raises(AppVersion.DoesNotExist, match="'zz'"):
        control.set_latest_version("zz")
    with pytest.raises(InvalidIdentifier, match="app version"):
        control.set_latest_version(5)


@pytest.mark.parametrize("turn", ["pause", "unpause"])
def test_a_queue_turned_by_a_body_is_turned_once(drain, turn):
    Queue.objects.create(name="other")

    @workflow(name="turns")
    def turns():
        turned = getattr(control, turn)("other")
        recv()
        return turned

    if turn == "unpause":
        control.pause("other")
    run = turns.enqueue()
    drain("default")
    {"pause": control.unpause, "unpause": control.pause}[turn]("other")
    send(run, None)
    drain("default")
    assert run.result() == 1
    assert (Queue.objects.get(name="other").paused_at is None) == (turn == "pause")


async def first_of(stream):
    return await anext(stream)


@pytest.mark.parametrize("position", [-1, "x", None, 1.5, True, 2**63])
def test_a_position_of_a_stream_is_a_whole_number_from_0(position):
    run = WorkflowFactory.create(status=Status.SUCCESS).id
    with pytest.raises(InvalidOption, match="position"):
        next(read_stream(run, "key", position))
    with pytest.raises(InvalidOption, match="position"):
        async_to_sync(first_of)(aread_stream(run, "key", position))
    assert list(read_stream(run, "key", 2**63 - 1)) == []


def test_attributes_are_as_large_as_an_enqueue_takes_them_and_no_larger(settings):
    settings.DURABLE = {"MAX_PAYLOAD": 1000}
    run = WorkflowFactory.create().id
    assert control.set_attributes(run, {"a": "x" * 900}) == [run]
    with pytest.raises(PayloadTooLarge, match="attributes"):
        control.set_attributes(run, {"a": "x" * 1000})


@pytest.mark.parametrize("find", [control.list_workflows, control.counts])
def test_what_is_no_set_of_filters_is_refused(find):
    with pytest.raises(InvalidOption, match="filters are given by name, or as one Filters; it is 'default'"):
        find("default")
    with pytest.raises(InvalidOption, match=r"one Filters, or filters by name .queue., not both"):
        find(Filters(status="ERROR"), queue="default")
