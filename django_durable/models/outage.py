"""Tell an error of a connection from one of what was asked over it."""

from __future__ import annotations

import psycopg
from django.db import InterfaceError, OperationalError

from django_durable.models.codes import code_of

LINE = ("08", "25P03", "53300", "57P")  # classes and codes of SQLSTATE: a connection ended or refused


def tells_of_the_line(error: BaseException) -> bool:
    """Whether the driver speaks of a connection, be it ours or another, and not of what was asked over it."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    code = code_of(error)
    return isinstance(error.__cause__, psycopg.Error) and (code is None or code.startswith(LINE))
