"""Plan a claim from a line that is read in parts: what to take, what to read next, and when it is settled.

    planner = Planner(rooms, fair=queue.fair, busy=in_flight_by_group)
    while not planner.settled:
        if planner.next_groups:                                    # after a complete directory
            for seek in planner.next_groups:
                planner.read_group(seek.group, *rows_of(seek, planner.exclusions.keys))
        else:                                                      # windows; a directory in turn with them
            rows, ended = window(planner.cursor, planner.exclusions, planner.window)
            planner.recount(rooms_with_the_keys_of(rows))          # before the rows are read in
            planner.read(rows, ended)
        while planner.settled and planner.to_lock:                 # may unsettle it: then read on
            got, held, gone = lock(planner.to_lock)
            planner.taken(got), planner.held(held), planner.gone(gone)
    mark(planner.plan)

The plan is exactly what ranking the whole line would take (`settling` says why), given the rooms, the busy
groups and the rows found held or gone. It respects every room at any moment, also before it is settled.
Where rows have two keys (partition and limit key), a row found held or gone can push out a row already
locked: lock and mark in two statements, and mark `plan` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django_durable.core.planning import settling
from django_durable.core.planning.candidates import END, LIMIT_KEY, PARTITION, Candidate, Place
from django_durable.core.planning.limits import Rooms
from django_durable.core.planning.line import Line
from django_durable.core.planning.ranking import Ranking
from django_durable.core.planning.reading import Exclusions, Reading
from django_durable.core.planning.settling import Contender, Loaded
from django_durable.core.planning.stops import StoppedBy, stopped_by

# The last pass leaves out only what has no room at all, so that it needs no further one.
MAX_PASSES = 5
FIRST_WINDOW = 4


def window_size(slots: int, windows: int = 0) -> int:
    """How many rows a window has, after so many: each is twice as large as the one before."""
    return max(slots, 1) * FIRST_WINDOW << windows


class Seek(NamedTuple):
    """Read up to `limit` rows of the group behind `after`."""

    group: str
    after: Place
    limit: int


class Planner:
    __slots__ = (
        "_asked_in",
        "_contenders",
        "_held",
        "_line",
        "_loaded",
        "_new",
        "_ranking",
        "_reading",
        "_settled",
        "_taken",
        "_windows",
    )

    def __init__(self, rooms: Rooms, *, fair: bool = False, busy: Mapping[str, int] | None = None) -> None:
        self._line = Line(rooms, busy or {}, fair)
        self._reading = Reading()
        self._reading.recount(self._line.shut)
        self._new: list[Candidate] = []
        self._held: set[str] = set()
        self._taken: set[str] = set()
        self._loaded: Loaded | None = None
        self._contenders: list[Contender] = []
        self._windows = 0
        self._asked_in = 1
        self._ranking: Ranking | None = None
        self._settled = False

    def read(self, rows: Sequence[Candidate], ended: bool, reached: Place | None = None) -> None:
        """Take in a window: rows in line order behind `cursor`; `ended` if no row is behind them.

        `reached` is the place up to which the line was looked at, if that is behind the last of the rows.
        """
        self._windows += 1
        if self._is_answer():
            self._reading.advance(rows, ended, reached)
        self._take_in(rows)

    def read_group(self, group: str, rows: Sequence[Candidate], ended: bool) -> None:
        """Take in the answer to a seek; `ended` if it came short of its limit."""
        if self._is_answer():
            self._reading.advance_group(group, rows, ended)
        self._take_in(rows)

    def directory(self, places: Mapping[str, Place], complete: bool) -> None:
        """Take in a part of the walk over the groups.

        `places` names groups that have a row in line, read or not, left out or not, and for each the place
        of its first row, or a later one before which none is unread. `complete` says that now every group is
        named that is not one of `shut_groups`; from then on `next_groups` takes the place of windows.
        """
        self._reading.note_directory(places, complete)
        self._ranking = None

    def recount(self, rooms: Rooms | None = None, busy: Mapping[str, int] | None = None) -> None:
        """Take over numbers counted anew: keys met since, or all of them again behind their locks."""
        line = self._line
        line.recount(rooms or line.rooms, line.busy if busy is None else busy)
        self._reading.recount(line.shut)
        self._loaded = None if busy is not None else self._loaded
        self._ranking = None

    def taken(self, ids: Iterable[str]) -> None:
        """Note rows as locked by this claim."""
        self._taken.update(ids)

    def held(self, ids: Iterable[str]) -> None:
        """Note rows as locked by another transaction: they keep their turn and are not planned."""
        self._held.update(ids)
        self._ranking = None

    def gone(self, ids: Iterable[str]) -> None:
        """Note rows as no longer in line: they are out of everything, also when read again."""
        self._line.add(self._new)
        self._new.clear()
        self._line.remove(ids)
        self._ranking = None

    @property
    def plan(self) -> list[Candidate]:
        """The rows to take of what was read, in order; final once settled."""
        return self._ranked().plan

    @property
    def to_lock(self) -> list[str]:
        """The ids of the plan not yet noted as taken, in order."""
        return [row.id for row in self.plan if row.id not in self._taken]

    @property
    def settled(self) -> bool:
        """Whether no unread row can change the plan."""
        self._ranked()
        return self._settled

    @property
    def cursor(self) -> Place:
        """The place behind which the next window starts.

        It moves back when rows left out must be read after all.
        """
        self._ranked()
        self._asked_in = self._reading.passes
        return self._reading.cursor

    @property
    def window(self) -> int:
        """How many rows to read next: each window is twice as large as the one before."""
        return window_size(self._line.rooms.slots, self._windows)

    @property
    def passes(self) -> int:
        """How many times the line was read from some place on; above MAX_PASSES only through a recount."""
        self._ranked()
        return self._reading.passes

    @property
    def exclusions(self) -> Exclusions:
        """What to leave out of the next window; of a seek, only the keys, and then the rest is empty."""
        self._ranked()
        return self._reading.exclusions

    @property
    def shut_groups(self) -> list[str]:
        """The groups that have no room from the start: a directory may leave them out."""
        shut = self._line.shut
        named = [PARTITION + name for name in shut.partitions if name is not None]
        return [LIMIT_KEY + key for key in shut.keys] + named

    @property
    def next_groups(self) -> list[Seek]:
        """The groups whose next rows can still win, the most promising first; empty before the directory."""
        self._ranked()
        self._asked_in = self._reading.passes
        unread = self._reading.unread or {}
        best = self._contenders[: max(self._line.rooms.slots, 1)]
        return [Seek(found.group, unread[found.group], self._depth(found, len(best))) for found in best]

    @property
    def stopped_by(self) -> StoppedBy:
        """Every limit the plan ran into, as far as the line was read."""
        ranking = self._ranked()
        reading = self._reading
        unread = [group for group, place in (reading.unread or {}).items() if place != END]
        return stopped_by(ranking, self._line.rows.values(), unread, reading.has_ended)

    def _is_answer(self) -> bool:
        """Rows asked for in an earlier pass do not answer where reading has started again."""
        return self._asked_in == self._reading.passes

    def _take_in(self, rows: Sequence[Candidate]) -> None:
        self._new.extend(rows)
        self._ranking = None

    def _ranked(self) -> Ranking:
        if self._ranking is None:
            self._line.add(self._new)
            self._new.clear()
            self._ranking = Ranking(self._line, self._held)
            self._settled = self._settle(self._ranking)
        return self._ranking

    def _settle(self, ranking: Ranking) -> bool:
        if self._reading.unread is not None:
            return self._settle_by_groups(ranking, self._reading.unread)
        if not settling.any_may_win(ranking, self._reading.cursor) and not self._lift_failing(ranking):
            return True
        if self._reading.passes < MAX_PASSES:
            self._reading.leave_out(settling.hopeless(ranking, self._reading.cursor, self._most_loaded()))
        return False

    def _settle_by_groups(self, ranking: Ranking, unread: dict[str, Place]) -> bool:
        self._lift_failing(ranking)
        self._contenders = settling.contenders(ranking, unread)
        return not self._contenders

    def _lift_failing(self, ranking: Ranking) -> bool:
        left_out = self._reading.left_out
        failing = settling.failing(ranking, left_out)
        if not any(failing):
            return False
        if self._reading.passes == MAX_PASSES - 1:
            failing = Exclusions([*left_out.keys], [*left_out.partitions], [*left_out.groups])
        self._reading.lift(failing)
        return True

    def _most_loaded(self) -> Loaded:
        if self._loaded is None:
            self._loaded = Loaded.of(self._line.busy if self._line.is_fair else {})
        return self._loaded

    def _depth(self, found: Contender, groups: int) -> int:
        """Twice its share of the slots, and no row whose turn would come too late."""
        slots = max(self._line.rooms.slots, 1)
        share = min(slots, -(-2 * slots // groups))
        ranking = self._ranked()
        rank, load, _ = ranking.turns[-1] if ranking.is_full else (None, 0, 0)
        return min(share, load - found.load + 1) if self._line.is_fair and rank == found.rank else share
