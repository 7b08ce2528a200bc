"""Whatever durable call a body makes inside its own atomic(): refused before it does anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from django_durable import (
    close_stream,
    deprecate_patch,
    gather,
    get_event,
    patch,
    recv,
    retrieve,
    send,
    set_event,
    sleep,
    wait_first,
    workflow,
    write_stream,
)
from django_durable.exceptions import InsideTransaction
from django_durable.models import StepOutput
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db

CALLS: dict[str, Callable[[str], Any]] = {
    "cancel": lambda other: retrieve(other).cancel(),
    "close_stream": lambda other: close_stream("log"),
    "deprecate_patch": lambda other: deprecate_patch("p"),
    "enqueue": lambda other: echo.enqueue(1),
    "enqueue_many": lambda other: echo.enqueue_many([((1,), {})]),
    "gather": lambda other: gather(retrieve(other)),
    "get_event": lambda other: get_event(other, "stage"),
    "patch": lambda other: patch("p"),
    "recv": lambda other: recv("topic"),
    "result": lambda other: retrieve(other).result(),
    "send": lambda other: send(other, "hello"),
    "set_event": lambda other: set_event("stage", 1),
    "sleep": lambda other: sleep(0),
    "status": lambda other: retrieve(other).status,
    "wait_first": lambda other: wait_first(retrieve(other)),
    "write_stream": lambda other: write_stream("log", 1),
}


@pytest.mark.parametrize("call", CALLS)
def test_it_is_refused_and_takes_no_number(drain, call):
    other = echo.using(id="other", queue="elsewhere").enqueue(1)

    @workflow(name="transactions.body")
    def body():
        with pytest.raises(InsideTransaction), transaction.atomic():
            CALLS[call](other.id)
        return "went on"

    run = body.enqueue()
    drain()
    assert run.result() == "went on"
    assert not StepOutput.objects.exists()
