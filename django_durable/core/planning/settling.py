"""Settling: whether an unread row could still change the plan, and which rows need not be read at all.

Turns grow. A ranking gives one turn after another; write each as (rank, load of its group before it, line
of its row). While it goes on rooms only shrink: a row without room stays without, and a rank is left for
good once no row of it has room. Of two turns at one rank, whoever takes the second had room at the first
and was not chosen, or follows its own group's first with one more load. So each turn is greater than the
one before it, as triples compare.

One more row. Put an unread row u of group g at a place (rank, line). Until the first turn u takes, nothing
differs. It takes turn i if it has room then and (rank, load of g then, line) < turn i. A group's rows get
their turns at one rank in line order, so let `load` be what g has in flight and its turns at this rank
before `line` (Ranking.load). Up to the last of those, turns are smaller than (rank, load, line); from then
until g's next own turn, which is greater, g's load is `load`. Hence the first turn u can take is the first
one greater than (rank, load, line): a bisection (Ranking.turn_at). For a row further behind that turn is no
earlier, its load and its place being no smaller: to ask for the place behind which a row must stand is to
ask for all of them.

Room. u has room at turn i if every bucket of it closes later. Slots and the queue's room are buckets of all
rows; if they stay open the plan is not full, and the turn after the last is there to be taken too. So the
whole test is

    turn_at(load, place) < closing(buckets of u)

If no unread row passes, the plan is final: the first turn in which ranking the whole line would differ
would go to an unread row, and that row passes. What the test says in plain cases: in default order every
load is 0, and a full plan is settled. In fair order with a full plan, a row behind all rows read, at the
rank of the last turn, can win only if load + 1 < T, where T is the last turn's load + 1; a group nobody has
met may have load 0, so without a directory such a plan is settled only if T <= 1.

Left out. Every unread row is behind the cursor or in a bucket left out (see `reading`); the same test,
asked at the cursor, says what can be left out from there on.
* Whatever has no room at the start closes at turn 0 and never passes.
* A limit key whose room is used up by the plan: in default order no row behind the cursor takes a turn
  before that, so it never passes. In fair order it proves nothing, since a row of a less loaded group may
  come before the turns that used it up: asked with load 0, the key is left out only if it closed before any
  such turn.
* Where the key is the group, its rows have the same buckets and get their turns in line order: once rows
  were read for all of its room, the key closes before an unread one's turn. Asking for the group, with its
  load, finds this.
* A partition is a group: as soon as it closes before the group's next turn, none of its rows passes. The
  null partition holds many groups and is asked about with load 0.
* A group whose load at the cursor's rank is at least T - 1 under a full plan, met or not.

Losing ground. All this is said of the plan so far. With two keys a row, a new row may take a limit key's
last room from a planned row, which leaves, and its partition opens again; the plan may even become shorter.
A row found held uses no room of this worker, one found gone uses none, a new count changes any. So before a
plan is called settled, each bucket left out is asked about again, at the place from where it has been left
out (`failing`). What fails is lifted and the line is read again from that place: a new pass. The last pass
leaves out nothing but what has no room at the start, so passes are bounded; only a new count can make one
more.

Held rows. A row takes its turn if it has room everywhere, held or not, and only then does it matter that a
held one uses the fleet's rooms alone. So a plan is right up to the first row not known to be held, and rows
without a turn do not matter: to know of the planned rows, by locking them, is enough.

The directory names every group and a place before which none of its rows is unread. From then on groups are
asked about one by one, with their own loads, rooms and places: a queue whose every key is used up, whose
one group is deep, or whose groups all have rows in flight is settled without reading its rows, and what
must be read are the next rows of the groups that pass.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from django_durable.core.planning.candidates import END, Place
from django_durable.core.planning.ranking import Ranking
from django_durable.core.planning.reading import Exclusions, LeftOut

AFTER_ALL = (END[0] - 1, 0, 0)  # behind the turn of any row, before the place where nothing is left


class Contender(NamedTuple):
    """A group whose next unread row could still win; the most promising sorts first."""

    rank: int
    load: int
    line: int
    group: str


class Loaded(NamedTuple):
    """The groups with rows in flight, most loaded first, beside their negated loads."""

    negated: list[int]
    groups: list[str]

    @classmethod
    def of(cls, busy: Mapping[str, int]) -> Loaded:
        groups = sorted(busy, key=busy.__getitem__, reverse=True)
        return cls([-busy[group] for group in groups], groups)

    def from_load(self, load: int) -> list[str]:
        return self.groups[: bisect_right(self.negated, -load)]


def any_may_win(ranking: Ranking, behind: Place) -> bool:
    """Tell whether a row behind the place, of a group nobody has met, could change the plan."""
    return behind != END and ranking.turn_at(0, behind) < ranking.ledger.closed


def key_may_win(ranking: Ranking, key: str, behind: Place) -> bool:
    """The same of a row with this limit key, in whatever group."""
    return behind != END and ranking.turn_at(0, behind) < ranking.ledger.key_closing(key)


def partition_may_win(ranking: Ranking, partition: str | None, behind: Place) -> bool:
    """The same of a row in this partition; the null partition holds many groups."""
    if partition is not None:
        return group_may_win(ranking, "p:" + partition, behind)
    return behind != END and ranking.turn_at(0, behind) < ranking.ledger.closing(None, None)


def group_may_win(ranking: Ranking, group: str, behind: Place) -> bool:
    """The same of a row of this group."""
    turn = ranking.turn_at(ranking.load(group, behind), behind)
    if behind == END or turn >= ranking.ledger.closed:
        return False
    return turn < ranking.ledger.closing_of(group)


def failing(ranking: Ranking, left_out: LeftOut) -> Exclusions:
    """Name the buckets left out that the plan, as it is now, no longer justifies."""
    return Exclusions(
        [key for key, place in left_out.keys.items() if key_may_win(ranking, key, place)],
        [name for name, place in left_out.partitions.items() if partition_may_win(ranking, name, place)],
        [group for group, place in left_out.groups.items() if group_may_win(ranking, group, place)],
    )


def hopeless(ranking: Ranking, cursor: Place, loaded: Loaded) -> Exclusions:
    """Name the buckets none of whose rows behind the cursor could change this plan."""
    ledger = ranking.ledger
    groups = [group for group in ranking.groups if not group_may_win(ranking, group, cursor)]
    return Exclusions(
        [key for key in ledger.filled_keys if not key_may_win(ranking, key, cursor)],
        [name for name in ledger.filled_partitions if not partition_may_win(ranking, name, cursor)],
        groups + _too_loaded(ranking, cursor, loaded),
    )


def contenders(ranking: Ranking, unread: Mapping[str, Place]) -> list[Contender]:
    """List the groups whose next unread row, behind the place given, could change the plan; best first."""
    last = ranking.turns[-1] if ranking.is_full and ranking.turns else AFTER_ALL
    closing, busy, own = ranking.ledger.closing_of, ranking.busy, ranking.groups
    found = []
    for group, behind in unread.items():
        rank, line = behind
        load = busy.get(group, 0)
        if (rank, load, line) > last:
            continue  # what its own turns add to its load only takes it further
        if group in own:
            load = ranking.load(group, behind)
        closes = closing(group)
        if closes and ranking.turn_at(load, behind) < closes:
            found.append(Contender(rank, load, line, group))
    return sorted(found)


def _too_loaded(ranking: Ranking, cursor: Place, loaded: Loaded) -> list[str]:
    if not (ranking.is_full and ranking.turns):
        return []
    rank, load, line = ranking.turns[-1]
    if cursor[0] < rank:
        return []
    return loaded.from_load(load + (cursor[1] < line))
