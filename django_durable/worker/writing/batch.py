"""Which of the writes that wait together go into one transaction, and what each is told of it.

Checkpoints and plain outcomes share one, in which an ending is written only after its execution's checkpoint.
Endings that write more than their own row (who waits is woken, history is dropped) go after everything else.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from django_durable.engine.execution.batches import Written, record_and_settle, set_aside, settle_awaited
from django_durable.models.announcing import has_receivers
from django_durable.worker.writing.aside import Aside
from django_durable.worker.writing.writes import Handed, InFlight, Write


def send(some: Sequence[Write], locked: Aside[Write], using: str) -> list[Write]:
    """Write what goes first in one transaction, put aside what is locked; returns what goes next."""
    checkpoints = [write for write in some if isinstance(write, InFlight)]
    endings = [write for write in some if isinstance(write, Handed)]
    plain, left = _apart(endings)
    if checkpoints or plain:
        written = record_and_settle(
            [write.checkpoint for write in checkpoints], [write.ending for write in plain], using
        )
        _answer_checkpoints(checkpoints, written, locked)
        return [*_answer_endings(plain, written, locked), *left]
    return list(_send_special(left, locked, using))


def _apart(endings: list[Handed]) -> tuple[list[Handed], list[Handed]]:
    """The endings that may go along with the checkpoints, and the others."""
    is_told = has_receivers()
    plain: list[Handed] = []
    left: list[Handed] = []
    for write in endings:
        write.is_awaited = write.is_awaited or (is_told and not write.leaves_the_worker)
        (left if write.is_awaited or write.leaves_the_worker else plain).append(write)
    return plain, left


def _send_special(endings: list[Handed], locked: Aside[Write], using: str) -> list[Handed]:
    awaited = [write for write in endings if write.is_awaited]
    if awaited:
        written = settle_awaited([write.ending for write in awaited], using)
        _answer_endings(awaited, written, locked)
        return [write for write in endings if not write.is_awaited]
    if endings:
        written = set_aside([write.ending for write in endings], using)
        _answer_endings(endings, written, locked)
    return []


def _answer_checkpoints(some: list[InFlight], written: Written, locked: Aside[Write]) -> None:
    for place, write in enumerate(some):
        if place in written.steps:
            _done(write, True, locked)
        elif write.fence in written.locked:
            locked.put(write.fence, write, time.monotonic())
        else:
            _done(write, False, locked)


def _answer_endings(some: list[Handed], written: Written, locked: Aside[Write]) -> list[Handed]:
    """Returns those that are left for a transaction which wakes who waits for them."""
    left: list[Handed] = []
    for write in some:
        if write.fence in written.ended:
            _done(write, True, locked)
        elif write.fence in written.awaited:
            write.is_awaited = True
            left.append(write)
        elif write.fence in written.locked:
            locked.put(write.fence, write, time.monotonic())
        else:
            _done(write, False, locked)
    return left


def _done(write: Write, held: bool, locked: Aside[Write]) -> None:
    if locked:
        locked.forget(write.fence)
    write.answer(held)
