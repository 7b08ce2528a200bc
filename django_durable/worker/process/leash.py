"""How a parent holds its workers: a pipe. A byte through it means stop, or stop now; so does its end.

Signals would be counted twice where a whole process group gets them, and say nothing of a parent that died.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from subprocess import Popen

from django_durable.worker.process.os_signals import Requests

STOP = b"."
FORCE = b"!"


def obey(requests: Requests, descriptor: int = 0) -> None:
    """Follow the leash at this file descriptor for as long as the process lives."""
    threading.Thread(target=_follow, args=(requests, descriptor), name="durable-leash", daemon=True).start()


def pull(child: Popen[bytes], word: bytes) -> None:
    """Say STOP or FORCE to a child; one that has ended hears nothing."""
    with suppress(OSError, ValueError):
        os.write(child.stdin.fileno(), word) if child.stdin else None


def _follow(requests: Requests, descriptor: int) -> None:
    with suppress(OSError):
        while word := os.read(descriptor, 1):
            requests.force() if word == FORCE else requests.stop()
    requests.stop()
