"""How one execution of a run can end."""

from __future__ import annotations

from dataclasses import dataclass

from django_durable.core.waits import Wait


@dataclass(frozen=True, slots=True)
class Completed:
    output: str


@dataclass(frozen=True, slots=True)
class Failed:
    error: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The body asked for it; a cancel from outside settles the row itself."""

    error: str


@dataclass(frozen=True, slots=True)
class Parked:
    error: str


@dataclass(frozen=True, slots=True)
class Deferred:
    """Goes to DELAYED: a retry (one failure), a snooze, or code that is not here (neither counts)."""

    seconds: float
    failures: int = 0
    forgiven: int = 0
    keeps_place: bool = False
    error: str | None = None

    @property
    def is_unbegun(self) -> bool:
        """Whether nothing of the run was done here, as its code is not."""
        return self.keeps_place and self.forgiven > 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """Leaves the worker, to be claimed again when what it waits for is there."""

    wait: Wait
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Superseded: there is nothing to write, and nothing may be written."""


Outcome = Completed | Failed | Cancelled | Parked | Deferred | Waiting | Overtaken
