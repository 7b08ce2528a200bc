"""A worker as a real process, to be started, frozen, killed and stopped."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

PR_SET_PDEATHSIG = 1
GRACE = 15  # seconds to drain


class Worker:
    """`manage.py run_queues` and whatever it starts, in a process group of its own."""

    def __init__(self, name: str, slots: int, environ: Mapping[str, str]) -> None:
        self.name = name
        self.is_killed = False
        self.log = _log_folder() / f"worker-{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, settings.BASE_DIR / "manage.py", "run_queues", "--slots", str(slots)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environ},
                start_new_session=True,  # Ctrl-C reaches the demo alone, which then stops its workers
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def owns(self, pid: int) -> bool:
        """Whether the process `pid` is this worker or one that it started."""
        try:
            return os.getpgid(pid) == self.pid
        except ProcessLookupError:
            return False

    def freeze(self) -> None:
        """Stop it in mid-air, so that what it holds can be read."""
        os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """kill -9: it gets no chance to say or write anything more."""
        self.is_killed = True
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()

    def ask_to_stop(self) -> None:
        if self.runs:
            self.process.terminate()

    def wait(self) -> None:
        """Wait for the end; one that does not come in time is forced."""
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()

    def last_words(self) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


def _log_folder() -> Path:
    folder = Path(settings.SHOP_LOGS)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _end_with_parent() -> None:
    """Ask the kernel to stop this process should the demo itself be killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
