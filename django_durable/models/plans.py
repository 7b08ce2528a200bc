"""Plans that the server keeps: a statement that a connection sends again is planned once for a while.

Where a statement touches a few rows, planning it takes as long as running it. So one that a connection sends
again within a few seconds is prepared there, and planned in general, whatever its parameters: each statement
of sql/ has one index that can serve it, so there is nothing that parameters could decide. A plan is made anew
after those seconds, for a table may have grown meanwhile; and none reads a table from end to end, for it may
have been made while there was next to nothing in it.

Nothing is prepared where the next transaction may meet a session that knows nothing of it: behind a pooler,
which gives its clients another number to cancel by than that of the server's process, and in a pool of the
driver that resets its sessions.
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
from django_durable.models.codes import code_of

if TYPE_CHECKING:
    from psycopg import Connection  # the tables are there without it, so that its absence can be told

GONE = "26000"  # there is no plan of that name
LOST = frozenset({GONE, "0A000", "42P05"})  # or it cannot give its rows any more; or there is one already
LIFETIME = 5.0  # seconds
NOT_PLANNED = frozenset({"listen"})
SETTINGS = ("plan_in_general", "plan_as_before", "forbid_sorts", "allow_sorts")
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


class Texts(NamedTuple):
    """Those of some statements, and of SETTINGS, which change the session's around them."""

    statements: tuple[str, ...]
    settings: tuple[str, ...]
    uses_plans: bool


def unplanned(names: tuple[str, ...]) -> Texts:
    return Texts(tuple(map(sql.load, names)), tuple(map(sql.load, SETTINGS)), uses_plans=False)


class Plans:
    """Those of one connection."""

    def __init__(self, raw: Connection[Any], *, may_keep: bool = True) -> None:
        """`may_keep`: whether nobody who hands out the session has it begin anew."""
        self._raw = raw
        self._since: dict[str, float] = {}  # when each statement was first sent, or its plan was made
        self._made: dict[str, str] = {}  # for which text
        self._left: list[str] = []  # the texts that drop plans which cannot be used any more
        self._generation = 0
        self._is_direct: bool | None = None if may_keep else False

    def texts(self, names: tuple[str, ...]) -> Texts:
        """How to send the statements now; makes the plans that are due."""
        if self._status == "INERROR":  # whatever is sent is refused: so is the making and dropping of plans
            return unplanned(names)
        now = time.monotonic()
        texts = tuple(self._text(name, now) for name in names)
        if self._made.keys().isdisjoint(names):
            return unplanned(names)
        return Texts(texts, tuple(self._prepared(name).use for name in SETTINGS), uses_plans=True)

    def begin_anew(self, error: Error) -> bool:
        """After an error that says that plans are lost; whether it undid no more than what is sent again."""
        is_gone = code_of(error) == GONE
        self._left = [] if is_gone else [*self._left, *(self._prepared(name).drop for name in self._made)]
        self._since.clear()
        self._made.clear()
        self._generation += 1
        return self._status == "IDLE"

    def _text(self, name: str, now: float) -> str:
        text = sql.load(name)
        if now - self._since.get(name, -LIFETIME) >= LIFETIME or self._made.get(name, text) != text:
            self._since[name] = now
            self._drop(name)
            return text
        if name in NOT_PLANNED or (name not in self._made and not self._make(name, text)):
            return text
        return self._prepared(name).use

    @property
    def _status(self) -> str:
        return self._raw.info.transaction_status.name

    def _make(self, name: str, text: str) -> bool:
        if self._is_direct is None:
            self._is_direct = self._ask_who_serves()
        if self._is_direct:
            new = [one for one in (*SETTINGS, name) if one not in self._made]
            self._made.update({one: sql.load(one) for one in new})
            left, self._left = self._left, []
            try:
                self._raw.execute(";\n".join([*left, *(self._prepared(one).make for one in new)]))
            except BaseException:  # what was not made must not be used
                for one in new:
                    del self._made[one]
                raise
        return self._is_direct

    def _drop(self, name: str) -> None:
        if name in self._made:
            drop = self._prepared(name).drop
            del self._made[name]
            self._raw.execute(drop)

    def _prepared(self, name: str) -> Prepared:
        return Prepared.of(f"durable_{name}_{self._generation}", self._made[name])

    def _ask_who_serves(self) -> bool:
        row = self._raw.execute(sql.load("server_process")).fetchone()
        return row is not None and bool(row[0] == self._raw.info.backend_pid)


_of: WeakKeyDictionary[Connection[Any], Plans] = WeakKeyDictionary()


def plans(connection: BaseDatabaseWrapper) -> Plans:
    """Those of the session that this connection, which must be open, has now."""
    raw = connection.connection
    found = _of.get(raw)
    if found is None:
        found = _of[raw] = Plans(raw, may_keep=not _resets_sessions(connection))
    return found


def _resets_sessions(connection: BaseDatabaseWrapper) -> bool:
    """Whether a pool of the driver does something of its own to a session that is given back."""
    pool = connection.settings_dict.get("OPTIONS", {}).get("pool")
    return isinstance(pool, dict) and pool.get("reset") is not None


def says_lost(error: Error) -> bool:
    """Whether a plan was dropped by somebody else, or cannot serve any more."""
    return code_of(error) in LOST
