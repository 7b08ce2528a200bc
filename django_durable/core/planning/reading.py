"""How far the line has been read: for every unread row, a place it must stand behind.

While windows are read, an unread row stands behind the cursor; or a bucket of it (its limit key, its
partition, its group) is left out of the reads, and it stands behind the place from which that bucket has
been left out. Once a directory has named every group, it stands behind the place noted for its group, or
its limit key is left out and it stands behind the place from which that has been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django_durable.core.planning.candidates import END, HEAD, Candidate, Place, limit_key_of, partition_of
from django_durable.core.planning.ledger import Shut


class Exclusions(NamedTuple):
    """Buckets to leave out of a read, by name; the partition None is all rows without one."""

    keys: list[str]
    partitions: list[str | None]
    groups: list[str]

    @property
    def by_kind(self) -> list[list[Any]]:
        return [*self]


class LeftOut(NamedTuple):
    """Buckets left out, each with the place behind which its rows may be unread."""

    keys: dict[str, Place]
    partitions: dict[str | None, Place]
    groups: dict[str, Place]

    @property
    def by_kind(self) -> list[dict[Any, Place]]:
        return [*self]


class Reading:
    """`shut` is left out for having no room from the start, `left_out` on the strength of the plan so far."""

    __slots__ = ("_places", "cursor", "left_out", "passes", "shut", "unread")

    def __init__(self) -> None:
        self.cursor = HEAD
        self.shut = LeftOut({}, {}, {})
        self.left_out = LeftOut({}, {}, {})
        self.passes = 1
        self.unread: dict[str, Place] | None = None
        self._places: dict[str, Place] = {}

    @property
    def exclusions(self) -> Exclusions:
        """What the next read leaves out; a read of single groups leaves out no more than shut keys."""
        if self.unread is not None:
            return Exclusions([*self.shut.keys], [], [])
        keys, partitions, groups = self.left_out
        return Exclusions([*self.shut.keys, *keys], [*self.shut.partitions, *partitions], [*groups])

    @property
    def has_ended(self) -> bool:
        """Whether not one row is unread, left out or not."""
        starts = [[self.cursor], *(out.values() for out in (*self.shut, *self.left_out))]
        starts += [self.unread.values()] if self.unread is not None else []
        return all(place == END for places in starts for place in places)

    def advance(self, rows: Sequence[Candidate], ended: bool, reached: Place | None = None) -> None:
        """Note a window read behind the cursor."""
        if ended:
            self.cursor = END
        elif reached is not None:
            self.cursor = max(self.cursor, reached)
        elif rows:
            self.cursor = max(self.cursor, rows[-1].place)

    def advance_group(self, group: str, rows: Sequence[Candidate], ended: bool) -> None:
        """Note the rows of one group read behind the place noted for it."""
        if self.unread is None:
            raise ValueError(f"group {group!r} was read on its own before a directory had named all groups")
        if ended:
            self.unread[group] = END
        elif rows:
            self.unread[group] = max(self.unread[group], rows[-1].place)

    def leave_out(self, names: Exclusions) -> None:
        """Leave buckets out of the windows from the cursor on, or from where they are left out already."""
        for left_out, new in zip(self.left_out.by_kind, names.by_kind, strict=True):
            left_out.update(dict.fromkeys([name for name in new if name not in left_out], self.cursor))

    def recount(self, shut: Shut) -> None:
        """Take over what has no room at the start; what has some now stays left out if the plan says so."""
        self._shut_out(self.shut.keys, self.left_out.keys, shut.keys.keys())
        if self.unread is None:
            self._shut_out(self.shut.partitions, self.left_out.partitions, shut.partitions.keys())

    def lift(self, names: Exclusions) -> None:
        """Take buckets back into the reads, which start again where the first of them was left out."""
        self.passes += 1
        for kind, lifted in enumerate(names.by_kind):
            places = {name: self.left_out.by_kind[kind].pop(name) for name in lifted}
            if places and self.unread is None:
                self._pull_back_windows(kind, min(places.values()))
            elif places and self.unread is not None:
                self._pull_back_groups(self.unread, places)

    def note_directory(self, places: Mapping[str, Place], complete: bool) -> None:
        self._places.update(places)
        if complete and self.unread is None:
            self.unread = self._starts()
            for left_out in (self.shut, self.left_out):
                left_out.partitions.clear()
                left_out.groups.clear()
            self.cursor = END
            self._pull_back_shut(min(self.unread.values(), default=END))

    def _starts(self) -> dict[str, Place]:
        groups = self.left_out.groups
        partitions = {**self.left_out.partitions, **self.shut.partitions}
        cursor = self.cursor
        if not (groups or partitions):
            return {group: max(cursor, (rank, line - 1)) for group, (rank, line) in self._places.items()}
        starts = {}
        for group, first in self._places.items():
            behind = min(cursor, groups.get(group, END), partitions.get(partition_of(group), END))
            starts[group] = max(behind, _before(first))
        return starts

    def _shut_out(self, shut: dict[Any, Place], left_out: dict[Any, Place], names: Any) -> None:
        start = self.cursor if self.unread is None else min(self.unread.values(), default=END)
        for name in names - shut.keys():
            shut[name] = min(left_out.pop(name, start), start)
        for name in shut.keys() - names:
            left_out[name] = shut.pop(name)

    def _pull_back_windows(self, kind: int, place: Place) -> None:
        """Start again from the place, and count as left out from there what stays so.

        A row of two buckets left out may have been covered by the place of the lifted one only. Two buckets
        of one kind share no row.
        """
        self.cursor = min(self.cursor, place)
        for out in (self.left_out.by_kind, self.shut.by_kind):
            for other in (*out[:kind], *out[kind + 1 :]):
                _pull_back(other, place)

    def _pull_back_groups(self, unread: dict[str, Place], places: dict[Any, Place]) -> None:
        for key, place in places.items():
            for group, start in unread.items():
                if limit_key_of(group) == key or partition_of(group) is not None:
                    unread[group] = max(min(start, place), _before(self._places[group]))
            self._pull_back_shut(place)

    def _pull_back_shut(self, place: Place) -> None:
        """Reads of single groups leave shut keys out from the first of their places on."""
        _pull_back(self.shut.keys, place)


def _before(place: Place) -> Place:
    return place[0], place[1] - 1


def _pull_back(places: dict[Any, Place], to: Place) -> None:
    for name, place in places.items():
        places[name] = min(place, to)
