"""A claimed run as the engine gets it: the whole row, so that no second read can fail."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django_durable.core.fence import Fence

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Run(NamedTuple):
    """Instants are kept as the microseconds since 1970 that they come as."""

    id: str
    token: UUID
    name: str
    queue: str
    input: str
    serialization: str
    attempt: int
    max_attempts: int
    claims: int
    partition_key: str | None
    limit_key: str | None
    created_us: int
    started_us: int
    deadline_us: int | None
    parent: str | None
    headers: str  # JSON
    rank: int
    seq: int
    has_history: bool

    @property
    def fence(self) -> Fence:
        return Fence(self.id, self.token)

    @property
    def created_at(self) -> datetime:
        return _instant(self.created_us)

    @property
    def started_at(self) -> datetime:
        return _instant(self.started_us)

    @property
    def deadline(self) -> datetime | None:
        return None if self.deadline_us is None else _instant(self.deadline_us)


def microseconds(instant: datetime) -> int:
    """Since 1970, exactly."""
    return (instant - EPOCH) // timedelta(microseconds=1)


def _instant(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)
