"""Group commit: one connection writes what many slots wait for, a statement for all that queued up meanwhile.

A checkpoint's caller goes on once its row is committed; an ending is handed over, and written soon. While the
database is away everything is kept, in order, and its callers wait.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from django.db import Error, connections

from django_durable.core.outcomes import Deferred, Failed, Overtaken
from django_durable.engine import payloads
from django_durable.engine.execution.recorder import (
    Checkpoint,
    Ended,
    Ending,
    write_checkpoints,
    write_endings,
)
from django_durable.exceptions import Superseded
from django_durable.worker.polling.bell import Bell
from django_durable.worker.service import Duty
from django_durable.worker.writing.lane import Lane, is_poison

LAST_RESORT = 60.0  # seconds until a run is tried again whose outcome could not be stored in any form
PAUSE_AT_THE_END = 0.1

logger = logging.getLogger("django_durable.worker")


class Waiting:
    """A checkpoint, and the thread that waits for it."""

    __slots__ = ("bell", "checkpoint", "refusal")

    def __init__(self, checkpoint: Checkpoint, bell: Bell) -> None:
        self.checkpoint = checkpoint
        self.bell = bell
        self.refusal: BaseException | None = None


class Handed(NamedTuple):
    """An ending, and who wants to know whether it held."""

    ending: Ending
    then: Ended


class GroupRecorder(Duty):
    """The engine's recorder for many slots; it calls `wake` when there is something for `tick` to write."""

    name = "recorder"

    def __init__(self, using: str, wake: Callable[[], None] = lambda: None) -> None:
        self.using = using
        self.wake = wake
        self._checkpoints = Lane(self._write_checkpoints, _refuse_checkpoint)
        self._endings = Lane(self._write_endings, self._refuse_ending)
        self._local = threading.local()
        self._pid = os.getpid()
        self._give_up_at = math.inf
        self._is_closed = False

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Return once it is committed; raises Superseded if the run is no longer this execution's."""
        self._end_a_fork()
        if self._is_closed:
            raise Superseded(checkpoint.fence)
        waiting = Waiting(checkpoint, self._own_bell())
        self._checkpoints.append(waiting)
        self.wake()
        waiting.bell.wait()
        if waiting.refusal is not None:
            raise waiting.refusal

    def end(self, ending: Ending, then: Ended) -> None:
        """Hand over the outcome; `then` is called on the recorder's thread once it is written or refused."""
        self._end_a_fork()
        if self._is_closed or isinstance(ending.outcome, Overtaken):
            then(False)
        else:
            self._endings.append(Handed(ending, then))
            self.wake()

    @property
    def backlog(self) -> int:
        """How many writes were handed over and are not committed yet."""
        return len(self._checkpoints) + len(self._endings)

    def tick(self) -> float:
        self._is_closed = False
        self._flush()
        return 0.0 if self.backlog else math.inf

    def give_up_at(self, instant: float) -> None:
        """From this monotonic instant on, `finish` leaves unwritten what the database does not take."""
        self._give_up_at = instant

    def finish(self) -> None:
        """Write what is left; from now on whoever comes is told that his run is given back."""
        self._is_closed = True
        while self.backlog:
            try:
                self._flush()
            except Error:
                if time.monotonic() > self._give_up_at:
                    raise
                with suppress(Error):
                    connections[self.using].close()
                time.sleep(PAUSE_AT_THE_END)

    def _flush(self) -> None:
        endings = len(self._endings)  # counted first: their runs' checkpoints came before and go before
        self._checkpoints.flush(len(self._checkpoints))
        self._endings.flush(endings)

    def _write_checkpoints(self, some: Sequence[Waiting]) -> None:
        held = write_checkpoints([waiting.checkpoint for waiting in some], self.using)
        for waiting in some:
            checkpoint = waiting.checkpoint
            if (checkpoint.workflow_id, checkpoint.token, checkpoint.step) not in held:
                waiting.refusal = Superseded(checkpoint.fence)
            waiting.bell.ring()

    def _write_endings(self, some: Sequence[Handed]) -> None:
        held = write_endings([handed.ending for handed in some], self.using)
        for ending, then in some:
            _tell(then, ending.fence in held)

    def _refuse_ending(self, handed: Handed, error: Exception) -> None:
        """An outcome that cannot be stored: its error is, or the run is set aside for a while."""
        fence = handed.ending.fence
        extra = {"event": "unstorable", "workflow_id": fence.workflow_id}
        logger.error("the outcome of workflow %r cannot be stored: %s", fence.workflow_id, error, extra=extra)
        for outcome in (Failed(payloads.encode_error(error)), Deferred(LAST_RESORT, keeps_place=True)):
            try:
                held = write_endings([Ending(fence, outcome)], self.using)
            except Error as refused:
                if not is_poison(refused):
                    raise
                logger.error("nor can %s: %s", type(outcome).__name__, refused, extra=extra)
            else:
                _tell(handed.then, bool(held))
                return
        _tell(handed.then, False)

    def _own_bell(self) -> Bell:
        """One a thread: a thread waits for one checkpoint at a time."""
        try:
            bell: Bell = self._local.bell
        except AttributeError:
            bell = self._local.bell = Bell()
        return bell

    def _end_a_fork(self) -> None:
        """A body that forked came here twice; the copy has no recorder and owns nothing."""
        if os.getpid() != self._pid:
            os._exit(0)


def _refuse_checkpoint(waiting: Waiting, error: Exception) -> None:
    waiting.refusal = error
    waiting.bell.ring()


def _tell(then: Ended, held: bool) -> None:
    try:
        then(held)
    except Exception:
        logger.exception("what follows an ending raised")
