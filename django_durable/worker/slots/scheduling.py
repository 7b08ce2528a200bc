"""How the operating system schedules the threads of slots."""

from __future__ import annotations

import os
from contextlib import suppress


def wake_without_haste() -> None:
    """Let this thread, when it is woken, leave the processor to who has it. Linux alone has such a class.

    Who wakes a slot holds the interpreter's lock, which is what a slot needs next: one that pushed him aside
    would only come to wait for him. Processes that the thread starts inherit the class.
    """
    if not hasattr(os, "SCHED_BATCH") or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    with suppress(OSError):  # a sandbox may refuse it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
