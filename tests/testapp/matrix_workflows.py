"""A workflow that makes every kind of durable call, and ends its own worker where it is told to."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from django_durable import (
    agather,
    arecv,
    asend,
    aset_event,
    asleep,
    await_first,
    awrite_stream,
    close_stream,
    control,
    gather,
    get_event,
    patch,
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
    "status read",
    "result read",
    "patched",
    "many enqueued",
    "many ended",
)


ASYNC_MOMENTS = (
    "start",
    "inside trace",
    "gathered",
    "slept",
    "child ended",
    "children ended",
    "received",
    "sent",
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
    reached("status read", runs[0].status)
    reached("result read", runs[0].result(timeout=NAP))
    reached("patched", patch("matrix"))
    many = child.enqueue_many([((number,), {}) for number in (4, 5)])
    reached("many enqueued", len(many))
    reached("many ended", [each.result() for each in many])
    return found


@step
async def leave_trace_async(kill_at: str) -> str:
    run = str(workflow_id())
    await asyncio.to_thread(Probe.note, run, "trace")
    await asyncio.to_thread(moment, "inside trace", kill_at)
    return "trace"


@workflow(name="matrix.async_child")
async def async_child(number: int) -> int:
    await asleep(NAP / 2)
    return number * 2


@workflow(name="matrix.everything_async")
async def everything_async(helper_id: str, kill_at: str) -> list[Any]:
    own = str(workflow_id())
    found: list[Any] = []

    async def reached(place: str, value: Any = None) -> None:
        found.append(value)
        await asyncio.to_thread(moment, place, kill_at)

    await reached("start")
    await reached(
        "gathered",
        await asyncio.gather(
            leave_trace_async(kill_at),
            enter_book.acall("never"),
            aset_event("stage", 1),
            awrite_stream("log", 1),
        ),
    )
    await reached("slept", await asyncio.gather(asleep(NAP), asleep(NAP / 2)))
    await reached("child ended", await async_child(1))
    runs = [await async_child.aenqueue(number) for number in (2, 3)]
    await reached("children ended", [await agather(*runs), (await await_first(*runs)) in runs])
    await asend(own, "to myself", "own")
    await reached("received", await asyncio.gather(arecv("own"), arecv("nothing", timeout=NAP)))
    await reached("sent", await asend(helper_id, own, "mail"))
    return found
