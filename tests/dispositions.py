"""What a process started by a test does with signals, whoever started the tests."""

from __future__ import annotations

import signal


def as_from_a_terminal() -> None:
    """For `preexec_fn`: a runner in the background or under nohup ignores these, and children inherit it."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
