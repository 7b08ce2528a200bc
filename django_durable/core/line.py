"""The rows read so far, arranged so that ranking them touches little more than the rows it takes.

A *lane* is the rows of one group at one rank, in line order (in default order all rows of a rank are one
lane). For each rank the lanes' first rows are kept sorted by (load before the claim, line): a sorted list
is a heap, so a ranking starts from a flat copy. Rows that no room admits from the start are known but stand
in no lane.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from operator import attrgetter

from django_durable.core.candidates import Candidate, group_of
from django_durable.core.ledger import Shut
from django_durable.core.limits import Rooms

Lane = list[Candidate]
# what the rows of a lane have in common: rank, partition, and the limit key where that makes the group
Stand = tuple[int, str | None, str | None]
# (load of the group, line of its next row, the lane, index of that row)
Head = tuple[int, int, Lane, int]

_by_line = attrgetter("line")


class Line:
    __slots__ = ("_heads", "_lanes", "_stale", "_unsorted", "busy", "is_fair", "rooms", "rows", "shut")

    def __init__(self, rooms: Rooms, busy: Mapping[str, int], is_fair: bool) -> None:
        self.is_fair = is_fair
        self.rows: dict[str, Candidate | None] = {}  # None: gone, and not to come back by a second read
        self.rooms, self.busy, self.shut = rooms, busy, Shut.in_(rooms)
        self._arrange()

    def recount(self, rooms: Rooms, busy: Mapping[str, int]) -> None:
        """Take over newly counted numbers; arranges again only if they matter to a known row otherwise."""
        before, after = self.shut, Shut.in_(rooms)
        stands = busy is self.busy and not self._is_touched(before, after)
        self.rooms, self.busy, self.shut = rooms, busy, after
        if not stands:
            self._arrange()

    def add(self, rows: Iterable[Candidate]) -> None:
        new = {row.id: row for row in rows if row.id not in self.rows}
        self.rows.update(new)
        self._place(new.values())

    def remove(self, ids: Iterable[str]) -> None:
        for id in ids:
            row, self.rows[id] = self.rows.get(id), None
            if row is not None:
                self._displace(row)

    def ranks(self) -> list[int]:
        return sorted(self._heads)

    def heads(self, rank: int) -> list[Head]:
        """Give a heap of the rank's lanes that the caller may use up."""
        if rank in self._stale:
            self._stale.discard(rank)
            lanes = [(stand, lane) for stand, lane in self._lanes.items() if stand[0] == rank]
            self._heads[rank] = sorted(self._head(stand, lane) for stand, lane in lanes)
        elif rank in self._unsorted:
            self._heads[rank].sort()
        self._unsorted.discard(rank)
        return self._heads[rank].copy()

    def _is_touched(self, before: Shut, after: Shut) -> bool:
        keys = before.keys.keys() ^ after.keys.keys()
        partitions = before.partitions.keys() ^ after.partitions.keys()
        if not (keys or partitions or before.unnamed or after.unnamed):
            return False
        rows = [row for row in self.rows.values() if row is not None]
        named = any(row.limit_key in keys or row.partition in partitions for row in rows)
        return named or before.unnamed or after.unnamed

    def _arrange(self) -> None:
        self._lanes: dict[Stand, Lane] = {}
        self._heads: dict[int, list[Head]] = {}
        self._unsorted: set[int] = set()  # ranks with a new lane
        self._stale: set[int] = set()  # ranks where a lane has another first row
        self._place(row for row in self.rows.values() if row is not None)

    def _place(self, rows: Iterable[Candidate]) -> None:
        lanes, shut = self._lanes, self.shut if any(self.shut) else None
        for row in rows:
            if shut is not None and shut.holds(self.rooms, row.partition, row.limit_key):
                continue
            stand = self._stand(row)
            lane = lanes.get(stand)
            if lane is None:
                lanes[stand] = lane = [row]
                self._heads.setdefault(row.rank, []).append(self._head(stand, lane))
                self._unsorted.add(row.rank)
            elif row.line > lane[-1].line:
                lane.append(row)
            else:
                insort(lane, row, key=_by_line)
                self._stale.add(row.rank)

    def _displace(self, row: Candidate) -> None:
        stand = self._stand(row)
        lane = self._lanes.get(stand, [])
        if row in lane:
            lane.remove(row)
            self._stale.add(row.rank)
        if not lane:
            self._lanes.pop(stand, None)

    def _stand(self, row: Candidate) -> Stand:
        _, rank, _, partition, key = row
        if not self.is_fair:
            return rank, None, None
        return rank, partition, key if partition is None else None

    def _head(self, stand: Stand, lane: Lane) -> Head:
        _, partition, key = stand
        load = self.busy.get(group_of(partition, key), 0) if self.is_fair else 0
        return load, lane[0].line, lane, 0
