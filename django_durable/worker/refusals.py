"""Why a server refused a connection, in PostgreSQL's codes: its words are in the language of the server.

libpq tells the code of an attempt that failed to nobody but its trace, which has all that comes before a
session since version 18, on Linux. The trace may hold a password, so it is kept in memory and not shown.
"""

from __future__ import annotations

import os
import re
import select
import time

from psycopg import Error, pq

CODE = re.compile(rb'^B\t\d+\tErrorResponse\t.*? C "(\w{5})"', re.MULTILINE)
MEGABYTE = 1 << 20


def code_of_refusal(conninfo: str, patience: float) -> str | None:
    """Try one connection, for so many seconds; the code with which the server refused it.

    None: it was made, nobody answered, or this libpq does not tell.
    """
    if not hasattr(os, "memfd_create"):
        return None
    trace = os.memfd_create("durable-trace")
    try:
        _connect(conninfo, trace, time.monotonic() + patience)
        codes = CODE.findall(os.pread(trace, MEGABYTE, 0))
    except Error:
        return None
    finally:
        os.close(trace)
    return codes[-1].decode() if codes else None


def _connect(conninfo: str, trace: int, until: float) -> None:
    attempt = pq.PGconn.connect_start(conninfo.encode())
    try:
        attempt.trace(trace)
        attempt.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
        status = attempt.connect_poll()
        while status in (pq.PollingStatus.READING, pq.PollingStatus.WRITING) and _is_ready(
            attempt.socket, status, until
        ):
            status = attempt.connect_poll()
        attempt.untrace()
    finally:
        attempt.finish()


def _is_ready(socket: int, status: int, until: float) -> bool:
    reads = [socket] if status == pq.PollingStatus.READING else []
    writes = [socket] if status == pq.PollingStatus.WRITING else []
    return any(select.select(reads, writes, [], max(until - time.monotonic(), 0.0)))
