"""Tell the database being away, which is never an outcome, from an error of the user's own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus

from django_durable.engine.execution.conflicts import Conflicts
from django_durable.models.outage import tells_of_the_line

R = TypeVar("R")

RETRYABLE = frozenset({"40001", "40P01"})  # serialization failure, deadlock
LOCKED = "55P03"
LONGEST_PAUSE = 5.0

logger = logging.getLogger("django_durable.outages")
_known_to_live = threading.local()


def is_outage(error: BaseException, using: str) -> bool:
    """Whether `error` came from the driver and this thread's connection to our database died of it.

    One that the user's own code made, or raised again from a record, has no error of the driver behind it.
    Where an atomic block lost its connection, Django has opened another by now: the one here is new then.
    """
    if not tells_of_the_line(error):
        return False
    connection = connections[using]
    known = _known_to_live.__dict__
    was, known[using] = known.get(using), connection.connection
    return not _is_alive(connection) or (was is not connection.connection and not connection.in_atomic_block)


def _is_alive(connection: BaseDatabaseWrapper) -> bool:
    raw = connection.connection
    if raw is None:
        return False
    # a failed transaction takes no question, but it is there to be rolled back
    return raw.info.transaction_status == TransactionStatus.INERROR or connection.is_usable()


def is_conflict(error: BaseException) -> bool:
    """Whether PostgreSQL asks for the transaction to be tried again."""
    return getattr(error.__cause__, "sqlstate", None) in RETRYABLE


def is_locked(error: BaseException) -> bool:
    """Whether a lock that somebody else holds was not waited for any longer."""
    return getattr(error.__cause__, "sqlstate", None) == LOCKED


def await_database(using: str) -> None:
    """Return once this thread's connection works again."""
    pause = 0.05
    connections[using].close()
    while not _reachable(using):
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
    _known_to_live.__dict__[using] = connections[using].connection


def _reachable(using: str) -> bool:
    try:
        connections[using].ensure_connection()
    except Error as error:
        logger.warning("database %r is away: %s", using, error)
        return False
    return True


def through_outages(action: Callable[[], R], using: str) -> R:
    """The result of `action`, which is a transaction of its own, tried until the database takes it.

    Raises what conflicts again and again.
    """
    conflicts = Conflicts()
    while True:
        try:
            return action()
        except Error as error:
            if is_outage(error, using):
                await_database(using)
            elif is_conflict(error) and (pause := conflicts.pause(error)) is not None:
                time.sleep(pause)
            else:
                raise
