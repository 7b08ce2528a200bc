"""What a durable call came to, as its row tells."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class Recorded(NamedTuple):
    """One checkpoint of the history."""

    step: int
    name: str
    output: str | None
    error: str | None
    serialization: str
    child: str | None
    completed_at: datetime
