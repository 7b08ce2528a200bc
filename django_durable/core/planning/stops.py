"""What stopped a claim from taking more: the answer to "what blocks the head"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from django_durable.core.planning.candidates import Candidate, limit_key_of, partition_of
from django_durable.core.planning.ranking import Ranking

NAMED = 5  # of a kind, in words; the others are counted

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

    @property
    def in_words(self) -> str:
        """What held rows back, for people; empty: nothing did."""
        if self.line_ended:
            return ""
        words = ["the slots of the worker"] if self.slots else []
        words += ["the limits of the queue"] if self.queue else []
        words += _named("partition", self.partitions)
        words += _named("limit key", self.limit_keys)
        return ", ".join(words)


def _named(kind: str, names: Sequence[str | None]) -> list[str]:
    if not names:
        return []
    told = ", ".join("none" if name is None else repr(name) for name in names[:NAMED])
    more = len(names) - NAMED
    return [f"{kind}{'s' if len(names) > 1 else ''} {told}" + (f" and {more} more" if more > 0 else "")]


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
