"""Read in the order of an index and of nothing else, whatever the statistics say.

Under a pinned horizon they say that a line has no rows, or a table none: then reading all of it and sorting
costs as much, on paper, as reading the first few in index order, and chance decides. With sorts forbidden
there is nothing left to decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django_durable.models import database


def guarded(name: str, params: Mapping[str, Any]) -> list[database.Asked]:
    """The statement between the two that forbid and allow; its answer is the second."""
    return [("forbid_sorts", {}), (name, params), ("allow_sorts", {})]


def fetch(name: str, params: Mapping[str, Any], using: str) -> list[tuple[Any, ...]]:
    """Run the statement `name`, in the round trip of one, and leave the session's settings as they were.

    Outside a transaction it holds only where the client binds: there the three statements are one.
    """
    return database.fetch_all(guarded(name, params), using)[1]
