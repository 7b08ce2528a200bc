"""Receivers of signals that a durable call sends: what they call is no part of the body that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.dispatch import Signal

from django_durable import aretrieve, retrieve, workflow, workflow_id
from django_durable.core.states import Status
from django_durable.models import StepOutput, WorkflowStatus
from django_durable.signals import transition, workflow_enqueued
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db

Connect = Callable[[Signal, Callable[..., None]], None]
elsewhere = echo.using(queue="elsewhere")


@pytest.fixture
def connect() -> Iterator[Connect]:
    connected: list[tuple[Signal, Callable[..., None]]] = []

    def connect(signal: Signal, receiver: Callable[..., None]) -> None:
        signal.connect(receiver)
        connected.append((signal, receiver))

    yield connect
    for signal, receiver in connected:
        signal.disconnect(receiver)


def put_in_line(verb: str = "", **_: Any) -> None:
    if verb == "cancel":
        assert workflow_id() is None
        elsewhere.using(id="notice").enqueue(verb)


@workflow(name="receivers.blocking")
def blocking():
    retrieve("other").cancel()


@workflow(name="receivers.async")
async def on_a_loop():
    await (await aretrieve("other")).acancel()


@pytest.mark.parametrize("body", [blocking, on_a_loop])
def test_what_a_receiver_puts_in_line_for_a_verb_of_a_body_is_nobodys_child(drain, connect, body):
    elsewhere.using(id="other").enqueue(1)
    connect(transition, put_in_line)
    run = body.enqueue()
    drain()
    assert run.status == Status.SUCCESS
    assert WorkflowStatus.objects.get(pk="notice").parent_id is None
    assert list(StepOutput.objects.values_list("name", flat=True)) == ["durable.status", "durable.cancel"]


def test_nor_is_what_it_puts_in_line_for_a_child(drain, connect):
    def put_one_more(ids, **_):
        if "child" in ids:
            elsewhere.using(id="notice").enqueue(2)

    @workflow(name="receivers.parent")
    def parent():
        elsewhere.using(id="child").enqueue(1)

    connect(workflow_enqueued, put_one_more)
    run = parent.enqueue()
    drain()
    assert run.status == Status.SUCCESS
    parents = dict(WorkflowStatus.objects.values_list("id", "parent_id"))
    assert (parents["child"], parents["notice"]) == (run.id, None)
