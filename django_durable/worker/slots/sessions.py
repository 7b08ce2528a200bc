"""A slot's database sessions between runs: usable, outside any transaction, as the project configured them.

What a run leaves behind (an open or broken transaction, a role, a search path) must not meet the next one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import Error, connections, reset_queries
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus

# what outlives a transaction
CHANGES_SESSION = re.compile(
    r"\A\W*(?:set\s+(?!local\b|constraints\b|transaction\b)|reset|listen|prepare|discard|create\s+temp)"
    r"|\bset_config\b|\bpg_(?:try_)?advisory_lock",
    re.IGNORECASE,
)
IDLE = 30.0
BRIEF = 1.0  # seconds that a connection without an age (CONN_MAX_AGE = 0) is kept for the slot's next run
_mine = threading.local()


def adopt_thread() -> None:
    """Watch what this thread's runs do to the connections they open."""
    _mine.changed = set()
    _mine.brief = set()
    connection_created.connect(_watch_new, dispatch_uid="django_durable.worker.slots.sessions")


def refresh() -> None:
    """Close connections that broke or are too old; where a slot begins a run."""
    for connection in connections.all(initialized_only=True):
        connection.close_if_unusable_or_obsolete()


def rest() -> None:
    """Close what an idle slot may not keep open."""
    refresh()
    for alias in _mine.brief:
        connections[alias].close()
    _mine.brief.clear()


def patience() -> float:
    """Seconds that a slot waits for its next run before it rests."""
    return BRIEF if _mine.brief else IDLE


def leave_clean() -> None:
    """Undo what a run did to this thread's sessions; where a slot ends a run."""
    reset_queries()
    for connection in connections.all(initialized_only=True):
        if is_left_changed(connection):
            abandon(connection)
        else:
            connection.close_if_unusable_or_obsolete()


def is_left_changed(connection: BaseDatabaseWrapper) -> bool:
    """Told without asking the server."""
    if connection.in_atomic_block or connection.alias in _mine.changed:
        return True
    raw = connection.connection
    if raw is None or connection.vendor != "postgresql" or raw.closed:
        return False
    if raw.info.transaction_status != TransactionStatus.IDLE:
        return True
    level = connection.settings_dict["OPTIONS"].get("isolation_level")
    return bool(raw.isolation_level != (None if level is None else IsolationLevel(level)))


def abandon(connection: BaseDatabaseWrapper) -> None:
    """Drop a connection with whatever is open on it: the server rolls back, and the next use gets another."""
    with suppress(Error, AttributeError):
        connection.connection.close()  # first: a pool keeps what is handed back open
    connection.in_atomic_block = False
    with suppress(Error):
        connection.close()
    del connections[connection.alias]
    _mine.changed.discard(connection.alias)
    _mine.brief.discard(connection.alias)


def _watch_new(sender: object, connection: BaseDatabaseWrapper, **_: object) -> None:
    if not hasattr(_mine, "changed"):
        return  # another thread's
    if not any(isinstance(wrapper, _Watch) for wrapper in connection.execute_wrappers):
        connection.execute_wrappers.append(_Watch(connection.alias))
    if connection.settings_dict["CONN_MAX_AGE"] == 0 and not getattr(connection, "pool", None):
        connection.close_at = None  # a server process for each run would cost more than the run
        _mine.brief.add(connection.alias)


class _Watch:
    """Notes the alias on which a statement changed the session."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        text = sql if isinstance(sql, str) else sql.as_string(None) if hasattr(sql, "as_string") else str(sql)
        if CHANGES_SESSION.search(text):
            _mine.changed.add(self.alias)
        return execute(sql, params, many, context)
