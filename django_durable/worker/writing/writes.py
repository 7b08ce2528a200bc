"""One write as it waits in the recorder, and whoever wants to know what became of it."""

from __future__ import annotations

import logging
import os

from django_durable.core.fence import Fence
from django_durable.core.outcomes import Cancelled, Completed, Deferred, Failed, Parked, Waiting
from django_durable.engine.execution.writes import Checkpoint, Ended, Ending
from django_durable.exceptions import Superseded
from django_durable.worker.writing.bells import Rung, bell_of_this_thread

logger = logging.getLogger("django_durable.worker")


class InFlight:
    """A checkpoint, and its receipt, by which any thread may wait for it."""

    __slots__ = ("_asleep", "_is_answered", "checkpoint", "pid", "refusal")

    def __init__(self, checkpoint: Checkpoint, pid: int) -> None:
        self.checkpoint = checkpoint
        self.pid = pid
        self.refusal: BaseException | None = None
        self._is_answered = False
        self._asleep: list[Rung] = []

    def wait(self) -> None:
        """Return once it is committed; raises what keeps it from that."""
        if not self._is_answered:
            end_a_fork(self.pid)
            bell = bell_of_this_thread()
            self._asleep.append(bell)
            while (
                not self._is_answered
            ):  # it is set before the bells are rung, so looked at behind the append
                bell.wait()
        if self.refusal is not None:
            raise self.refusal

    @property
    def fence(self) -> Fence:
        return self.checkpoint.fence

    @property
    def size(self) -> int:
        """In characters."""
        return self.checkpoint.size

    def answer(self, held: bool) -> None:
        if not held:
            self.refusal = Superseded(self.fence)
        self._wake()

    def refuse(self, error: Exception) -> None:
        self.refusal = error
        self._wake()

    def _wake(self) -> None:
        self._is_answered = True
        for bell in self._asleep:
            bell.ring()


class Handed:
    """An ending, and who wants to know whether it held."""

    __slots__ = ("ending", "is_awaited", "then")

    def __init__(self, ending: Ending, then: Ended) -> None:
        self.ending = ending
        self.then = then
        self.is_awaited = False  # known once a first try left it

    @property
    def fence(self) -> Fence:
        return self.ending.fence

    @property
    def size(self) -> int:
        """In characters."""
        match self.ending.outcome:
            case Completed(text) | Failed(text) | Cancelled(text) | Parked(text):
                return len(text)
        return 0

    @property
    def leaves_the_worker(self) -> bool:
        """Whether the run goes to wait or to be tried again."""
        return isinstance(self.ending.outcome, Deferred | Waiting)

    def answer(self, held: bool) -> None:
        try:
            self.then(held)
        except Exception:
            logger.exception("what follows an ending raised")


Write = InFlight | Handed


def end_a_fork(pid: int) -> None:
    """A body that forked came here twice; the copy has no recorder and owns nothing."""
    if os.getpid() != pid:
        os._exit(0)
