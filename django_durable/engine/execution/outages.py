"""Tell the database being away, which is never an outcome, from an error of the user's own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from psycopg.pq import TransactionStatus

from django_durable.engine.execution.conflicts import Conflicts
from django_durable.models import database
from django_durable.models.outage import hang_up, is_read_only, tells_of_the_line

R = TypeVar("R")

LONGEST_PAUSE = 5.0

logger = logging.getLogger("django_durable.outages")
_mine = threading.local()


class _Opened:
    """How many connections to one database this thread has opened, and how many it needed so far."""

    def __init__(self) -> None:
        self.count = 0
        self.needed = 1


def note_connection(using: str) -> None:
    """Where an execution begins on this thread: a connection that is replaced from here on was lost."""
    opened = _opened(using)
    opened.needed = opened.count + (connections[using].connection is None)


def is_outage(error: BaseException, using: str) -> bool:
    """Whether `error` came from the driver and this thread's connection to our database is of no more use.

    One that the user's own code made, or raised again from a record, has no error of the driver behind it.
    Where an atomic block lost its connection, Django has opened another by now: the one here is new then.
    """
    if is_read_only(error):
        return _refuses_writes(using)
    if not tells_of_the_line(error):
        return False
    connection, opened = connections[using], _opened(using)
    is_replaced = opened.count > opened.needed and not connection.in_atomic_block
    opened.needed = max(opened.count, opened.needed)
    return not _is_of_another_server(error, connection) and (is_replaced or not _is_alive(connection))


def _is_of_another_server(error: BaseException, connection: BaseDatabaseWrapper) -> bool:
    """Whether the driver tells, as of a connection that was refused, that it was meant for another one."""
    line = getattr(error.__cause__, "pgconn", None)
    if line is None:
        return False
    ours = connection.get_connection_params()
    tried = {"host": line.host, "port": line.port, "dbname": line.db}
    return any(
        value and name in ours and value.decode() not in str(ours[name]).split(",")  # several hosts, maybe
        for name, value in tried.items()
    )


def _opened(using: str) -> _Opened:
    opened: _Opened = _mine.__dict__.setdefault(using, _Opened())
    return opened


def _count(sender: object, connection: BaseDatabaseWrapper, **_: object) -> None:
    _opened(connection.alias).count += 1


connection_created.connect(_count, dispatch_uid="django_durable.engine.execution.outages")


def _is_alive(connection: BaseDatabaseWrapper) -> bool:
    raw = connection.connection
    if raw is None:
        return False
    # a failed transaction takes no question, but it is there to be rolled back
    return raw.info.transaction_status == TransactionStatus.INERROR or connection.is_usable()


def _refuses_writes(using: str) -> bool:
    """Whether the server does, or did when it opened this session. Nothing can be asked in a transaction."""
    if connections[using].in_atomic_block:
        return False
    try:
        ((refuses,),) = database.fetch("refuses_writes", {}, using)
    except Error as error:
        return tells_of_the_line(error)
    return bool(refuses)


def await_database(using: str) -> None:
    """Return once this thread has a connection over which it can write."""
    pause = 0.05
    hang_up(using)
    while not _reachable(using):
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
    note_connection(using)


def _reachable(using: str) -> bool:
    try:
        ((refuses,),) = database.fetch("refuses_writes", {}, using)
    except Error as error:
        logger.warning("database %r is away: %s", using, error)
        return False
    if refuses:
        logger.warning("database %r takes no writes", using)
        hang_up(using)
    return not refuses


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
            elif (pause := conflicts.pause(error)) is not None:
                time.sleep(pause)
            else:
                raise
