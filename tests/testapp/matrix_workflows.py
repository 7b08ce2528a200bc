"""A workflow that makes every kind of durable call, and ends its own worker where it is told to."""

from __future__ import annotations

import os
import signal
from typing import Any

from django_durable import (
    close_stream,
    control,
    gather,
    get_event,
    recv,
    send,
    set_event,
    sleep,
    step,
    wait_first,
    workflow,
    workflow_id,
    write_stream,
)
from tests.testapp.models import Ledger, Probe

NAP = 0.3  # longer than SUSPEND_AFTER where the matrix runs, so that it leaves the worker
MOMENTS = (
    "start",
    "inside trace",
    "traced",
    "inside ledger",
    "entered",
    "published",
    "streamed",
    "sent",
    "napped",
    "slept",
    "child ended",
    "enqueued",
    "gathered",
    "first ended",
    "received",
    "nothing received",
    "event read",
    "annotated",
    "forked",
    "closed",
)


def moment(place: str, kill_at: str) -> None:
    """kill -9 to this very process, the first time that the run comes here."""
    run = str(workflow_id())
    if place == kill_at and not Probe.hits(run, place, "killed"):
        Probe.note(run, place, "killed")
        os.kill(os.getpid(), signal.SIGKILL)


@step
def leave_trace(kill_at: str) -> str:
    Probe.note(str(workflow_id()), "trace")
    moment("inside trace", kill_at)
    return "trace"


@step(atomic=True)
def enter_book(kill_at: str) -> int:
    Ledger.objects.create(run_id=str(workflow_id()), step="book")
    moment("inside ledger", kill_at)
    return 1


@workflow(name="matrix.child")
def child(number: int) -> int:
    sleep(NAP / 2)
    return number * 2


@workflow(name="matrix.helper")
def helper() -> None:
    recv("never")


@workflow(name="matrix.everything")
def everything(helper_id: str, kill_at: str) -> list[Any]:
    own = str(workflow_id())
    found: list[Any] = []

    def reached(place: str, value: Any = None) -> None:
        found.append(value)
        moment(place, kill_at)

    reached("start")
    reached("traced", leave_trace(kill_at))
    reached("entered", enter_book(kill_at))
    reached("published", set_event("stage", 1))
    reached("streamed", write_stream("log", "first"))
    reached("sent", send(helper_id, own, "mail"))
    reached("napped", sleep(0.01))
    reached("slept", sleep(NAP))
    reached("child ended", child(1))
    runs = [child.enqueue(number) for number in (2, 3)]
    reached("enqueued", len(runs))
    reached("gathered", gather(*runs))
    reached("first ended", wait_first(*runs).id in {run.id for run in runs})
    send(own, "to myself", "own")
    reached("received", recv("own"))
    reached("nothing received", recv("nothing", timeout=NAP))
    reached("event read", get_event(own, "stage"))
    reached("annotated", control.set_attributes([helper_id], {"annotated": True}))
    reached("forked", len(control.fork([runs[0].id])))
    reached("closed", close_stream("log"))
    return found
