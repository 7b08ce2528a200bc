"""Group commit: one connection writes what many slots wait for, all that queued up meanwhile at once.

A body goes on when it has handed its checkpoint over, and waits for the commit at its next durable call; an
ending is not waited for. While the database is away everything is kept, in order. A run whose row others hold
waits alone.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from operator import attrgetter

from django.db import Error

from django_durable.core.fence import Fence
from django_durable.core.outcomes import Completed, Deferred, Failed, Overtaken
from django_durable.engine import payloads
from django_durable.engine.execution.writes import Checkpoint, Ended, Ending, Receipt
from django_durable.exceptions import Superseded
from django_durable.models.outage import hang_up
from django_durable.worker.service import Duty
from django_durable.worker.writing.aside import Aside
from django_durable.worker.writing.batch import send
from django_durable.worker.writing.lane import Lane, is_poison
from django_durable.worker.writing.writes import Handed, InFlight, Write, end_a_fork

LAST_RESORT = 60.0  # seconds until a run is tried again whose outcome could not be stored in any form
PAUSE_AT_THE_END = 0.1
SPARE = 1.0  # seconds of the end that rows which others hold may not take from what else is to be written

logger = logging.getLogger("django_durable.worker")


class GroupRecorder(Duty):
    """The engine's recorder for many slots; it calls `wake` when there is something for `tick` to write."""

    name = "recorder"

    def __init__(self, using: str, wake: Callable[[], None] = lambda: None) -> None:
        self.using = using
        self.wake = wake
        self._writes: Lane[Write] = Lane(self._write, self._refuse, attrgetter("size"))
        self._locked: Aside[Write] = Aside()
        self._unstorable: dict[Fence, Exception] = {}
        self._pid = os.getpid()
        self._give_up_at = math.inf
        self._is_closed = False

    def hand_over(self, checkpoint: Checkpoint) -> Receipt:
        """Written soon, together with those of others; raises Superseded once the recorder has ended."""
        end_a_fork(self._pid)
        if self._is_closed:
            raise Superseded(checkpoint.fence)
        write = InFlight(checkpoint, self._pid)
        self._writes.append(write)
        self.wake()
        return write

    def end(self, ending: Ending, then: Ended) -> None:
        """Hand over the outcome; `then` is called on the recorder's thread once it is written or refused."""
        end_a_fork(self._pid)
        if self._is_closed or isinstance(ending.outcome, Overtaken):
            then(False)
        else:
            self._writes.append(Handed(ending, then))
            self.wake()

    @property
    def backlog(self) -> int:
        """How many writes were handed over and are not committed yet."""
        return len(self._writes) + len(self._locked)

    def tick(self) -> float:
        self._is_closed = False
        self._flush()
        return 0.0 if self._writes else self._locked.rest(time.monotonic())

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
                hang_up(self.using)
                time.sleep(PAUSE_AT_THE_END)
            else:
                self._rest_at_the_end()

    def _rest_at_the_end(self) -> None:
        if self._writes or not self._locked:
            return
        if time.monotonic() > self._give_up_at - SPARE:
            self._leave_the_locked()
        else:
            time.sleep(min(self._locked.rest(time.monotonic()), PAUSE_AT_THE_END))

    def _leave_the_locked(self) -> None:
        left = self._locked.take()
        extra = {"event": "left_locked", "writes": len(left)}
        logger.warning("%d writes are left, as other transactions hold their rows", len(left), extra=extra)
        for write in left:
            write.answer(False)

    def _flush(self) -> None:
        if self._locked:
            self._writes.put_first(self._locked.take(time.monotonic()))
        self._writes.flush(len(self._writes))

    def _write(self, some: Sequence[Write]) -> Sequence[Write]:
        """Those of whose execution others are aside already go behind them."""
        if self._unstorable:
            self._tell_endings(some)
        behind = [write for write in some if self._locked.holds(write.fence)] if self._locked else []
        left = send(
            [write for write in some if write not in behind] if behind else some, self._locked, self.using
        )
        for write in behind:
            self._locked.put(write.fence, write, time.monotonic())
        return left

    def _refuse(self, write: Write, error: Exception) -> None:
        self._locked.forget(write.fence)
        if isinstance(write, InFlight):
            self._unstorable[write.fence] = error
            write.refuse(error)
        else:
            self._refuse_ending(write, error)

    def _tell_endings(self, some: Sequence[Write]) -> None:
        """A body that had returned before its last checkpoint was refused did not succeed."""
        for write in some:
            if isinstance(write, Handed) and write.fence in self._unstorable:
                error = self._unstorable.pop(write.fence)
                if isinstance(write.ending.outcome, Completed):
                    write.ending = Ending(write.fence, Failed(payloads.encode_error(error)))

    def _refuse_ending(self, write: Handed, error: Exception) -> None:
        fence = write.fence
        extra = {"event": "unstorable", "workflow_id": fence.workflow_id}
        logger.error("the outcome of workflow %r cannot be stored: %s", fence.workflow_id, error, extra=extra)
        for outcome in (Failed(payloads.encode_error(error)), Deferred(LAST_RESORT, keeps_place=True)):
            try:
                return self._write_instead(Handed(Ending(fence, outcome), write.then))
            except Error as refused:
                if not is_poison(refused):
                    raise
                logger.error("nor can %s: %s", type(outcome).__name__, refused, extra=extra)
        write.answer(False)

    def _write_instead(self, write: Handed) -> None:
        left: Sequence[Write] = [write]
        while left:
            left = send(left, self._locked, self.using)
