"""One write as it waits in the recorder, and whoever wants to know what became of it."""

from __future__ import annotations

import logging

from django_durable.core import outcomes
from django_durable.core.fence import Fence
from django_durable.engine.execution.recorder import Checkpoint, Ended, Ending
from django_durable.exceptions import Superseded
from django_durable.worker.polling.bell import Bell

logger = logging.getLogger("django_durable.worker")


class Waiting:
    """A checkpoint, and the thread that waits for it."""

    __slots__ = ("bell", "checkpoint", "refusal")

    def __init__(self, checkpoint: Checkpoint, bell: Bell) -> None:
        self.checkpoint = checkpoint
        self.bell = bell
        self.refusal: BaseException | None = None

    @property
    def fence(self) -> Fence:
        return self.checkpoint.fence

    def answer(self, held: bool) -> None:
        if not held:
            self.refusal = Superseded(self.fence)
        self.bell.ring()

    def refuse(self, error: Exception) -> None:
        self.refusal = error
        self.bell.ring()


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
    def leaves_the_worker(self) -> bool:
        """Whether the run goes to wait or to be tried again."""
        return isinstance(self.ending.outcome, outcomes.Deferred | outcomes.Waiting)

    def answer(self, held: bool) -> None:
        try:
            self.then(held)
        except Exception:
            logger.exception("what follows an ending raised")


Write = Waiting | Handed
