"""The rows read so far, arranged so that ranking them touches little more than the rows it takes.

A *lane* is the rows of one group at one rank, in line order (in default order all rows of a rank are one
lane). For each rank the lanes' first rows are kept sorted by (load before the claim, line): a sorted list
is a heap, so a ranking starts from a flat copy. Rows that no room admits from the start are known but stand
in no lane.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Mapping
from operator import attrgetter

from django_durable.core.planning.candidates import Candidate, group_of
from django_durable.core.planning.ledger import Shut
from django_durable.core.planning.limits import Rooms

Lane = list[Candidate]
# (load of the group, line of its next row, the lane, index of that row)
Head = tuple[int, int, Lane, int]

_by_line = attrgetter("line")


class Line:
    __slots__ = ("_heads", "_lanes", "_opened", "_stale", "busy", "is_fair", "rooms", "rows", "shut")

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
        return sorted(self._heads.keys() | self._opened.keys())

    def heads(self, rank: int) -> list[Head]:
        """Give a heap of the rank's lanes that the caller may use up."""
        opened = self._opened.pop(rank, [])
        if rank in self._stale:
            self._stale.discard(rank)
            self._heads.pop(rank, None)
            opened = [(group, lane) for (at, group), lane in self._lanes.items() if at == rank]
        heads = self._heads.setdefault(rank, [])
        if opened:
            busy = self.busy if self.is_fair else {}
            heads += [(busy.get(group, 0), lane[0].line, lane, 0) for group, lane in opened]
            heads.sort()
        return heads.copy()

    def _is_touched(self, before: Shut, after: Shut) -> bool:
        keys = before.keys.keys() ^ after.keys.keys()
        partitions = before.partitions.keys() ^ after.partitions.keys()
        if not (keys or partitions or before.unnamed or after.unnamed):
            return False
        rows = [row for row in self.rows.values() if row is not None]
        named = any(row.limit_key in keys or row.partition in partitions for row in rows)
        return named or before.unnamed or after.unnamed

    def _arrange(self) -> None:
        self._lanes: dict[tuple[int, str], Lane] = {}
        self._heads: dict[int, list[Head]] = {}
        self._opened: defaultdict[int, list[tuple[str, Lane]]] = defaultdict(list)  # not yet among the heads
        self._stale: set[int] = set()  # ranks where a lane has another first row
        self._place(row for row in self.rows.values() if row is not None)

    def _place(self, rows: Iterable[Candidate]) -> None:
        lanes, shut = self._lanes, self.shut if any(self.shut) else None
        for row in rows:
            _, rank, line, partition, key = row
            if shut is not None and shut.holds(self.rooms, partition, key):
                continue
            group = group_of(partition, key) if self.is_fair else ""
            lane = lanes.get((rank, group))
            if lane is None:
                lanes[rank, group] = lane = [row]
                self._opened[rank].append((group, lane))
            elif line > lane[-1].line:
                lane.append(row)
            else:
                insort(lane, row, key=_by_line)
                self._stale.add(rank)

    def _displace(self, row: Candidate) -> None:
        stand = row.rank, row.group if self.is_fair else ""
        lane = self._lanes.get(stand, [])
        if row in lane:
            lane.remove(row)
            self._stale.add(row.rank)
        if not lane:
            self._lanes.pop(stand, None)
