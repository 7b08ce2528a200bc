"""Tell the database being away, which is never an outcome, from an error of the user's own."""

from __future__ import annotations

import logging
import time

from django.db import Error, InterfaceError, OperationalError, connections

RETRYABLE = frozenset({"40001", "40P01"})  # serialization failure, deadlock
LONGEST_PAUSE = 5.0

logger = logging.getLogger("django_durable.outages")


def is_outage(error: BaseException, using: str) -> bool:
    """Whether `error` came from a connection to our database that is now dead."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    connection = connections[using]
    return connection.connection is None or not connection.is_usable()


def is_conflict(error: BaseException) -> bool:
    """Whether PostgreSQL asks for the transaction to be tried again."""
    return getattr(error.__cause__, "sqlstate", None) in RETRYABLE


def await_database(using: str) -> None:
    """Return once this thread's connection works again."""
    pause = 0.05
    connections[using].close()
    while not _reachable(using):
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


def _reachable(using: str) -> bool:
    try:
        connections[using].ensure_connection()
    except Error as error:
        logger.warning("database %r is away: %s", using, error)
        return False
    return True
