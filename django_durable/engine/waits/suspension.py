"""Let a run leave its worker: nothing of it stays in this process, and its row says what it waits for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum, auto

from django.db import transaction

from django_durable.claim.isolation import read_committed
from django_durable.core.fence import Fence
from django_durable.core.waits import Wait
from django_durable.models import database
from django_durable.models.announcing import announce, together


class Left(Enum):
    """What came of an attempt to leave."""

    WAITS = auto()
    HAS_COME = auto()  # what it would have waited for is there: the run stays, and goes on
    SUPERSEDED = auto()


def suspend(fence: Fence, wait: Wait, using: str) -> Left:
    """Leave unless it came meanwhile. Locks: the run FOR UPDATE, then what it waits for, in id order."""
    with read_committed(using), transaction.atomic(using=using):
        if not database.fetch("hold_own_run", fence._asdict() | {"id": fence.workflow_id}, using):
            return Left.SUPERSEDED
        if _has_come(fence, wait, using):
            return Left.HAS_COME
        suspend_all([(fence, wait)], using)
    return Left.WAITS


def suspend_all(waits: Sequence[tuple[Fence, Wait]], using: str) -> set[Fence]:
    """Write sleeps in one statement; returns the fences that held."""
    if not waits:
        return set()
    params = {
        "ids": [fence.workflow_id for fence, _ in waits],
        "tokens": [fence.token for fence, _ in waits],
        "wakes": [wait.until for _, wait in waits],
        "topics": [wait.topic for _, wait in waits],
        "several": [json.dumps(wait.topics) if wait.topics else None for _, wait in waits],
    }
    with together(using):
        held = {Fence(*row) for row in database.fetch("suspend", params, using)}
        announce("suspend", [fence.workflow_id for fence in held], using)
    return held


def _has_come(fence: Fence, wait: Wait, using: str) -> bool:
    if wait.runs:
        database.fetch("await_runs", {"runs": list(wait.runs)}, using)
    for workflow_id in sorted({workflow_id for workflow_id, _ in wait.events}):
        database.fetch("hold_publisher", {"workflow": workflow_id}, using)
    params = {
        "id": fence.workflow_id,
        "mailboxes": list(wait.mailboxes),
        "publishers": [workflow_id for workflow_id, _ in wait.events],
        "keys": [key for _, key in wait.events],
        "runs": list(wait.runs),
    }
    return bool(database.fetch("wait_is_over", params, using)[0][0])
