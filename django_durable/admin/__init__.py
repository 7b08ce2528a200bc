"""The tables in the admin: queues and limits to edit, runs and executors to look at."""

from __future__ import annotations

from django_durable.admin.executors import ExecutorAdmin
from django_durable.admin.limits import LimitAdmin
from django_durable.admin.queues import QueueAdmin
from django_durable.admin.workflows import WorkflowAdmin

__all__ = ["ExecutorAdmin", "LimitAdmin", "QueueAdmin", "WorkflowAdmin"]
