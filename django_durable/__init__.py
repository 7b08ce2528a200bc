"""Durable workflows and queues inside the Postgres a Django project already has."""

from __future__ import annotations

from django_durable.api import enqueue_by_name, retrieve, step_context, workflow_id
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
    "enqueue_by_name",
    "retrieve",
    "step",
    "step_context",
    "workflow",
    "workflow_id",
]
