"""Plans that the server keeps: a statement that a connection sends again is planned once for a while.

Where a statement touches a few rows, planning it takes as long as running it. So one that a connection sends
again within a few seconds is prepared there, and planned in general, whatever its parameters: each statement
of sql/ has one index that can serve it, so there is nothing that parameters could decide. A plan is made anew
after those seconds, for a table may have grown meanwhile.

Nothing is prepared where a pooler stands between: the next transaction may meet another session. A pooler
gives its clients another number to cancel by than that of the server's process; that tells.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from django_durable import sql

if TYPE_CHECKING:
    from psycopg import Connection  # the tables are there without it, so that its absence can be told

LOST = frozenset({"0A000", "26000"})  # a plan cannot give its rows any more; there is none of that name
LIFETIME = 5.0  # seconds
NOT_PLANNED = frozenset({"listen"})
_PARAMETER = re.compile(r"%\((\w+)\)s")


class Prepared(NamedTuple):
    """The texts that make, use and drop a plan; `use` has the parameters of the statement by their names."""

    make: str
    use: str
    drop: str

    @classmethod
    @lru_cache(maxsize=512)
    def of(cls, plan: str, text: str) -> Prepared:
        places = {found: place for place, found in enumerate(dict.fromkeys(_PARAMETER.findall(text)), 1)}
        numbered = _PARAMETER.sub(lambda found: f"${places[found[1]]}", text).replace("%%", "%")
        given = ", ".join(f"%({found})s" for found in places)
        use = f"EXECUTE {plan} ({given})" if given else f"EXECUTE {plan}"
        return cls(f"PREPARE {plan} AS {numbered}", use, f"DEALLOCATE {plan}")


class Plans:
    """Those of one connection."""

    def __init__(self, raw: Connection[Any]) -> None:
        self._raw = raw
        self._since: dict[str, float] = {}  # when each statement was first sent, or its plan was made
        self._made: dict[str, str] = {}  # for which text
        self._generation = 0
        self._is_direct: bool | None = None

    def text(self, name: str) -> tuple[str, bool]:
        """How to send the statement now, and whether that uses a plan; makes one where it is due."""
        text, now = sql.load(name), time.monotonic()
        if now - self._since.get(name, -LIFETIME) >= LIFETIME or self._made.get(name, text) != text:
            self._since[name] = now
            self._drop(name)
            return text, False
        if name in NOT_PLANNED or (name not in self._made and not self._make(name, text)):
            return text, False
        return self._prepared(name, text).use, True

    def lost(self) -> None:
        """Begin anew: the session lost plans, or what their tables look like changed."""
        self._since.clear()
        self._made.clear()
        self._generation += 1

    def _make(self, name: str, text: str) -> bool:
        if self._is_direct is None:
            self._is_direct = self._ask_who_serves()
        if self._is_direct:
            self._raw.execute(self._prepared(name, text).make)
            self._made[name] = text
        return self._is_direct

    def _drop(self, name: str) -> None:
        text = self._made.pop(name, None)
        if text is not None:
            self._raw.execute(self._prepared(name, text).drop)

    def _prepared(self, name: str, text: str) -> Prepared:
        return Prepared.of(f"durable_{name}_{self._generation}", text)

    def _ask_who_serves(self) -> bool:
        row = self._raw.execute(sql.load("server_process")).fetchone()
        return row is not None and bool(row[0] == self._raw.info.backend_pid)


_of: WeakKeyDictionary[Connection[Any], Plans] = WeakKeyDictionary()


def plans(connection: BaseDatabaseWrapper) -> Plans:
    """Those of the session that this connection, which must be open, has now."""
    raw = connection.connection
    found = _of.get(raw)
    if found is None:
        found = _of[raw] = Plans(raw)
    return found


def says_lost(error: Error) -> bool:
    """Whether a plan was dropped by somebody else, or cannot serve any more."""
    return getattr(error.__cause__, "sqlstate", None) in LOST
