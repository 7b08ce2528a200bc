"""Which of the writes that wait together go into one transaction, and what each is told of it.

Checkpoints and plain outcomes share one, in which an ending is written only after its execution's checkpoint.
Endings that write more than their own row (who waits is woken, history is dropped) go after everything else.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from django_durable.engine.execution.batches import Written, record_and_settle, set_aside, settle_awaited
from django_durable.engine.execution.writes import Ending
from django_durable.models.announcing import has_receivers
from django_durable.worker.writing.aside import Aside
from django_durable.worker.writing.writes import Handed, InFlight, Write


def send(some: Sequence[Write], locked: Aside[Write], using: str) -> Sequence[Write]:
    """Write what goes first in one transaction, put aside what is locked; returns what goes next."""
    checkpoints = [write for write in some if isinstance(write, InFlight)]
    plain, awaited, leaving = _by_kind([write for write in some if isinstance(write, Handed)])
    if checkpoints or plain:
        written = record_and_settle([write.checkpoint for write in checkpoints], _endings(plain), using)
        for place, write in enumerate(checkpoints):
            _answer(write, place in written.steps, written, locked)
        return [*_answer_endings(plain, written, locked), *awaited, *leaving]
    if awaited:
        _answer_endings(awaited, settle_awaited(_endings(awaited), using), locked)
        return leaving
    if leaving:
        _answer_endings(leaving, set_aside(_endings(leaving), using), locked)
    return []


def _by_kind(some: list[Handed]) -> tuple[list[Handed], list[Handed], list[Handed]]:
    """Those that may go along with checkpoints, those that somebody hears of, those that leave the worker."""
    is_told = has_receivers()
    plain: list[Handed] = []
    awaited: list[Handed] = []
    leaving: list[Handed] = []
    for write in some:
        kind = leaving if write.leaves_the_worker else awaited if is_told or write.is_awaited else plain
        kind.append(write)
    return plain, awaited, leaving


def _endings(some: list[Handed]) -> list[Ending]:
    return [write.ending for write in some]


def _answer_endings(some: list[Handed], written: Written, locked: Aside[Write]) -> list[Handed]:
    """Returns those that are left for a transaction which wakes who waits for them."""
    left: list[Handed] = []
    for write in some:
        if write.fence in written.awaited:
            write.is_awaited = True
            left.append(write)
        else:
            _answer(write, write.fence in written.ended, written, locked)
    return left


def _answer(write: Write, held: bool, written: Written, locked: Aside[Write]) -> None:
    if not held and write.fence in written.locked:
        locked.put(write.fence, write, time.monotonic())
        return
    if locked:
        locked.forget(write.fence)
    write.answer(held)
