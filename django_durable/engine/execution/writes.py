"""What an execution writes, as values, and the one door for it: the recorder.

Whoever hands a checkpoint over gets a receipt to wait by. The plain recorder sends each write at once, on the
caller's connection; the worker's groups what many slots hand over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol
from uuid import UUID

from django_durable.core.fence import Fence
from django_durable.core.outcomes import Outcome

Ended = Callable[[bool], None]


class Checkpoint(NamedTuple):
    """The result of one durable call; `seconds` is how long it took."""

    workflow_id: str
    token: UUID
    step: int
    name: str
    output: str | None
    error: str | None
    serialization: str
    child: str | None = None
    attempts: int = 1
    seconds: float = 0.0

    @property
    def fence(self) -> Fence:
        return Fence(self.workflow_id, self.token)

    @property
    def size(self) -> int:
        """In characters."""
        return len(self.output or "") + len(self.error or "")


class Ending(NamedTuple):
    """How one execution ended."""

    fence: Fence
    outcome: Outcome


class Receipt(Protocol):
    """For a checkpoint that was handed over."""

    def wait(self) -> None:
        """Return once it is committed; raises Superseded if the run is no longer this execution's."""


class Recorder(Protocol):
    def hand_over(self, checkpoint: Checkpoint) -> Receipt:
        """Write it, now or soon."""

    def end(self, ending: Ending, then: Ended) -> None:
        """Write the outcome, now or soon, and never without what the same execution handed over before.

        `then` learns whether the run was still this execution's.
        """
