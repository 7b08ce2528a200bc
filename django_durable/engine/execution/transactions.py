"""The atomic blocks that are open where a durable call is made."""

from __future__ import annotations

from django.db import connections

from django_durable.engine.execution.context import WorkflowContext
from django_durable.exceptions import InsideTransaction


def depth(using: str) -> int:
    """How many atomic blocks are open on this thread's connection."""
    return len(connections[using].atomic_blocks)


def refuse_open_transaction(context: WorkflowContext, call: str) -> None:
    """A checkpoint inside the body's own transaction would outlive its rollback."""
    if depth(context.using) > context.atomic_depth:
        raise InsideTransaction(call)
