"""The isolation that counting behind a lock needs."""

from __future__ import annotations

from django.db import connections
from psycopg import IsolationLevel


class read_committed:
    """Make the transactions that begin within the block READ COMMITTED, whatever the connection's default."""

    def __init__(self, using: str) -> None:
        self.connection = connections[using]

    def __enter__(self) -> None:
        self.before = None
        if not self.connection.in_atomic_block:
            self.connection.ensure_connection()
            self.before = self.connection.connection.isolation_level
            self.connection.connection.isolation_level = IsolationLevel.READ_COMMITTED

    def __exit__(self, *_: object) -> None:
        raw = self.connection.connection
        if raw is not None and not raw.closed and not self.connection.in_atomic_block:
            raw.isolation_level = self.before
