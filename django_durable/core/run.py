"""A claimed run as the engine gets it: the whole row, so that no second read can fail."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django_durable.core.fence import Fence


class Run(NamedTuple):
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
    created_at: datetime
    started_at: datetime
    deadline: datetime | None
    parent: str | None
    headers: str  # JSON
    rank: int
    seq: int
    has_history: bool

    @property
    def fence(self) -> Fence:
        return Fence(self.id, self.token)
