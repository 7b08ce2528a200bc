"""What stopped a claim from taking more: the answer to "what blocks the head"."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from django_durable.core.planning.candidates import Candidate, limit_key_of, partition_of
from django_durable.core.planning.ranking import Ranking

_by_place = attrgetter("rank", "line")


class StoppedBy(NamedTuple):
    """Every limit the plan ran into; one that took all there was, with room to spare, has `line_ended` only.

    Partitions and limit keys are those that rows which were read are waiting for, in line order.
    """

    line_ended: bool
    slots: bool
    queue: bool
    partitions: tuple[str | None, ...]
    limit_keys: tuple[str, ...]


def stopped_by(
    ranking: Ranking, rows: Iterable[Candidate | None], unread: Iterable[str], ended: bool
) -> StoppedBy:
    """Say it of a ranking, the rows it was made of, the groups that have unread ones, and the line's end."""
    taken = {row.id for row in ranking.rows}
    waiting = sorted((row for row in rows if row is not None and row.id not in taken), key=_by_place)
    buckets = [(row.partition, row.limit_key) for row in waiting]
    buckets += [(partition_of(group), limit_key_of(group)) for group in unread]
    ledger = ranking.ledger
    keys = (key for _, key in buckets if key is not None and key in ledger.closed_keys)
    return StoppedBy(
        line_ended=ended and not waiting,
        slots=ledger.slots <= 0,
        queue=ledger.queue <= 0,
        partitions=tuple(dict.fromkeys(name for name, _ in buckets if ledger.is_closed_to(name))),
        limit_keys=tuple(dict.fromkeys(keys)),
    )
