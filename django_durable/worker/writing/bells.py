"""By what a slot is woken that sleeps until its checkpoint is committed: one bell a thread.

Where threads may run on several cores a lock is let go, and who is woken comes to wait for the interpreter's
lock a little later. On one core he would be put in the place of who woke him at once, only to fall asleep
again for want of that lock. A write to a file lets go of it first: so he runs, and the recorder goes on once
he sleeps. That halves the sleeps of a step.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Protocol

from django_durable.worker.polling.bell import Bell
from django_durable.worker.process.core import cores

ONE = (1).to_bytes(8, sys.byteorder)


class Rung(Protocol):
    def ring(self) -> None:
        """End the wait that is under way, or else the next one."""

    def wait(self) -> object:
        """Return once it rang; it may have rung for what came before."""


class FileBell:
    """Rung and waited for without the interpreter's lock."""

    def __init__(self) -> None:
        self._file = os.eventfd(0)

    def __del__(self) -> None:
        os.close(self._file)

    def ring(self) -> None:
        os.write(self._file, ONE)

    def wait(self) -> None:
        os.read(self._file, len(ONE))


_own = threading.local()


def bell_of_this_thread() -> Rung:
    try:
        bell: Rung = _own.bell
    except AttributeError:
        is_alone = len(cores()) == 1 and hasattr(os, "eventfd")
        bell = _own.bell = FileBell() if is_alone else Bell()
    return bell
