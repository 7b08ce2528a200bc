"""Starts that rates have counted and that were none."""

from __future__ import annotations

from collections.abc import Sequence

from django_durable.core.fence import Fence
from django_durable.models import database


def uncount_starts(fences: Sequence[Fence], using: str) -> None:
    """Take back what claims of these runs counted: in the transaction that puts them back, before that."""
    if fences:
        params = {
            "ids": [fence.workflow_id for fence in fences],
            "tokens": [fence.token for fence in fences],
        }
        database.change("uncount_starts", params, using)
