"""Tell an error of a connection from one of what was asked over it."""

from __future__ import annotations

from contextlib import suppress

import psycopg
from django.db import Error, InterfaceError, OperationalError, connections

from django_durable.models.codes import code_of

LINE = ("08", "25P03", "53300", "57P")  # classes and codes of SQLSTATE: a connection ended or refused
READ_ONLY = "25006"  # as a server answers that became a standby, or was told to store nothing for a while


def tells_of_the_line(error: BaseException) -> bool:
    """Whether the driver speaks of a connection, be it ours or another, and not of what was asked over it."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    code = code_of(error)
    return isinstance(error.__cause__, psycopg.Error) and (code is None or code.startswith(LINE))


def is_read_only(error: BaseException) -> bool:
    """Whether something was to be written where nothing may be: in this transaction, session or server."""
    return code_of(error) == READ_ONLY


def hang_up(using: str) -> None:
    """Close this thread's connection for good: a pool would keep what is handed back open."""
    connection = connections[using]
    with suppress(Error, AttributeError):
        connection.connection.close()
    with suppress(Error):
        connection.close()
