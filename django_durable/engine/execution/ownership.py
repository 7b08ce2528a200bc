"""Whether a run is still this execution's, and writes that happen only as long as it is.

The order of locks: the rows of others first where somebody may hold those and wait for us (a receiver that is
about to suspend), else the run's own row first, so that a superseded execution does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.db import transaction

from django_durable.claim.isolation import read_committed
from django_durable.core.fence import Fence
from django_durable.engine.execution.conflicts import through_conflicts
from django_durable.engine.execution.context import WorkflowContext, current, surrounding
from django_durable.engine.execution.step_context import step_number
from django_durable.exceptions import Superseded
from django_durable.models import database

R = TypeVar("R")


def own(fence: Fence, using: str) -> None:
    """Hold the run's row for the rest of the transaction; raises Superseded."""
    if not database.fetch("own_run", {"id": fence.workflow_id, "token": fence.token}, using):
        raise Superseded(fence)


def fenced(do: Callable[[int], Any]) -> Any:
    """Do it from inside a step of the surrounding run, in one transaction: guarded, not recorded."""
    context = surrounding()
    assert context is not None
    number = step_number() or context.numbering.last
    return guarded(lambda: do(number))


def guarded(act: Callable[[], R], *, own_row_first: bool = True) -> R:
    """What `act` gives; in a step, only while the run is this execution's, up to the commit.

    Raises Superseded, from inside a step alone: what a body does is guarded by the record of it.
    """
    context = surrounding()
    if context is None or current() is not None:
        return act()
    return through_conflicts(lambda: _while_owned(context, act, own_row_first=own_row_first), context.using)


def _while_owned(context: WorkflowContext, act: Callable[[], R], *, own_row_first: bool) -> R:
    with read_committed(context.using), transaction.atomic(using=context.using):
        if own_row_first:
            own(context.fence, context.using)
        value = act()
        if not own_row_first:
            own(context.fence, context.using)
        return value


def still_owned(fences: set[Fence], using: str) -> set[Fence]:
    """Those whose runs still are these executions', read without a lock."""
    if not fences:
        return set()
    ids = [fence.workflow_id for fence in fences]
    return fences & {Fence(*row) for row in database.fetch("read_tokens", {"ids": ids}, using)}
