"""The tables, one noun a module."""

from __future__ import annotations

from django_durable.models.event import Event, EventHistory
from django_durable.models.executor import Executor
from django_durable.models.limit import Limit, RateStart
from django_durable.models.message import Message
from django_durable.models.queue import DEFAULT_QUEUE, Queue
from django_durable.models.schedule import Schedule
from django_durable.models.step import StepOutput
from django_durable.models.stream import StreamEntry
from django_durable.models.version import AppVersion
from django_durable.models.workflow import WorkflowStatus

__all__ = [
    "DEFAULT_QUEUE",
    "AppVersion",
    "Event",
    "EventHistory",
    "Executor",
    "Limit",
    "Message",
    "Queue",
    "RateStart",
    "Schedule",
    "StepOutput",
    "StreamEntry",
    "WorkflowStatus",
]
