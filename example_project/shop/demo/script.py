"""What a demo plays: how much, and how fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

QUICK: dict[str, Any] = {"orders": 60, "rows": 6000}


@dataclass(frozen=True, kw_only=True)
class Script:
    """`rows` None means the whole file; times are seconds."""

    orders: int = 300
    rows: int | None = None
    slots: int = 8
    lease: int = 5
    gateway: float = 0.2
    patience: float = 80.0
    workers: tuple[str, ...] = ("A", "B")
