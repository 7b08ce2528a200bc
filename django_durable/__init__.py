"""Durable workflows and queues inside the Postgres a Django project already has."""

from __future__ import annotations

from django_durable.api import (
    aclose_stream,
    agather,
    aget_event,
    aread_stream,
    arecv,
    asend,
    asend_many,
    aset_event,
    asleep,
    await_first,
    awrite_stream,
    close_stream,
    enqueue_by_name,
    gather,
    get_event,
    read_stream,
    recv,
    retrieve,
    send,
    send_many,
    set_event,
    sleep,
    step_context,
    wait_first,
    workflow_id,
    write_stream,
)
from django_durable.core.options import Options
from django_durable.core.states import Status
from django_durable.declare import step, workflow
from django_durable.exceptions import Cancel, Fail, Snooze

__version__ = "0.1.0"

__all__ = [
    "Cancel",
    "Fail",
    "Options",
    "Snooze",
    "Status",
    "aclose_stream",
    "agather",
    "aget_event",
    "aread_stream",
    "arecv",
    "asend",
    "asend_many",
    "aset_event",
    "asleep",
    "await_first",
    "awrite_stream",
    "close_stream",
    "enqueue_by_name",
    "gather",
    "get_event",
    "read_stream",
    "recv",
    "retrieve",
    "send",
    "send_many",
    "set_event",
    "sleep",
    "step",
    "step_context",
    "wait_first",
    "workflow",
    "workflow_id",
    "write_stream",
]
