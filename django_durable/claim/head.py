"""A claim in one statement, which is all of its transaction: where nothing can reorder or hold back the line.

Such a claim needs no plan: the first rows that are free are the ones to take. What makes it right the
statement sees for itself: where limits changed a moment ago it takes nothing, and the claim is planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from django.db import connections

from django_durable.claim.positioned import PositionedReader
from django_durable.core.planning.candidates import Candidate
from django_durable.core.run import Run
from django_durable.models import WorkflowStatus, database
from django_durable.models.announcing import hears_of_claims

_in_line = itemgetter(1, 2)


def commits_by_itself(using: str) -> bool:
    """Whether a statement sent now is a transaction of its own that nobody else takes part in."""
    connection = connections[using]
    is_open = connection.in_atomic_block or not connection.get_autocommit()
    return not is_open and database.sends_together(using) and not hears_of_claims()


def take_head(queue: str, slots: int, mine: Mapping[str, Any], using: str) -> list[Run]:
    """Take the first free rows of the line; empty also where they have to be planned."""
    return in_rank_order(WorkflowStatus.objects.db_manager(using).claim_head(queue, slots, mine))


def take_behind(reader: PositionedReader, slots: int, mine: Mapping[str, Any]) -> list[Run]:
    """Take the first free rows behind positions; the reader learns what was seen. Empty as above."""
    floor = reader.head_floor(slots)
    if floor is None:
        return []
    asked = {"rank": floor.rank, "line": floor.line, "most": floor.limit, "slots": slots}
    rows = database.fetch("claim_behind", {**reader.params, **mine, **asked}, reader.using)
    rows.sort(key=_in_line)
    runs = [Run(*row[3:]) for row in rows if row[3] is not None]
    if runs:
        reader.saw(floor, [Candidate(*row[:3]) for row in rows])
    return runs


def in_rank_order(runs: list[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: (run.rank, run.seq))
