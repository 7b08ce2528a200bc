"""Whoever reads what a command prints may stop reading: `… | head`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

READER_GONE = 128 + 13  # what a shell says of a program that SIGPIPE ended


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """End the process without a word when its reader has gone; what the block has to undo is undone first."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _write_to_nobody()
        sys.exit(READER_GONE)


def _write_to_nobody() -> None:
    """So that Python's own flush at the end does not fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
