"""Proof of one claim: every write that an execution makes shows it."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID


class Fence(NamedTuple):
    workflow_id: str
    token: UUID
