"""Notices that something was put in line, heard on a connection of its own. They only save waiting."""

from __future__ import annotations

import logging
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import psycopg
from django.db import Error, OperationalError, connections

from django_durable import sql
from django_durable.models import database
from django_durable.worker.service import Duty

PATIENCE = 3.0  # seconds for a probe to come back
QUIET = 4.0  # seconds that it waits at a time: a tick that is longer is taken for stuck
PROBE_AFTER = 20.0  # seconds without a notice, after which the connection is probed again
RETRY_WHEN_DEAF = 600.0
DEAF = (
    "notices do not arrive over the database %r: new work is found by polling only. If a transaction pooler "
    "is between, name a direct connection in DURABLE['LISTEN_DATABASE'] or give --no-listen"
)

logger = logging.getLogger("django_durable.worker")


class Listener(Duty):
    """Connects, proves by a probe that notices arrive, and calls `on_notice` at each and at each connect."""

    name = "listener"

    def __init__(self, using: str) -> None:
        self.using = using
        self.on_notice: Callable[[], None] = lambda: None
        self.is_hearing = False
        self._heard: list[str] = []
        self._ear: socket.socket | None = None
        self._mouth: socket.socket | None = None
        self._last_heard = 0.0
        self._is_deafness_told = False

    def interrupt(self) -> None:
        """End the wait for notices."""
        with suppress(OSError, AttributeError):  # not listening yet, or no more
            self._mouth.send(b".")  # type: ignore[union-attr]

    def tick(self) -> float:
        try:
            return self._listen()
        except BaseException:
            self._disconnect()
            raise

    def finish(self) -> None:
        self._disconnect()

    def _listen(self) -> float:
        if not self.is_hearing:
            return self._connect()
        if self._heard or self._wait(QUIET):
            self._pass_on()
        elif time.monotonic() - self._last_heard > PROBE_AFTER and not self._comes_back(self._send):
            raise OperationalError("notices do not arrive any more") from psycopg.OperationalError()
        return 0.0

    def _connect(self) -> float:
        self._disconnect()
        self._open_ear()
        database.fetch("listen", {}, self.using)
        self._raw.add_notify_handler(self._hear)
        self.is_hearing = self._comes_back(self._send_from_elsewhere)
        self.on_notice()
        if self.is_hearing:
            return 0.0
        self._tell_deafness()
        self._disconnect()
        return RETRY_WHEN_DEAF

    def _hear(self, notice: Any) -> None:
        self._heard.append(notice.payload)

    @property
    def _raw(self) -> Any:
        connections[self.using].ensure_connection()
        return connections[self.using].connection

    def _disconnect(self) -> None:
        """Close for good: a pool must not hand a listening connection to others."""
        self.is_hearing = False
        connection = connections[self.using]
        with suppress(Error, AttributeError):
            connection.connection.close()
        with suppress(Error):
            connection.close()
        self._heard.clear()
        for end in (self._mouth, self._ear):
            if end is not None:
                end.close()
        self._mouth = self._ear = None

    def _comes_back(self, send: Callable[[str], None]) -> bool:
        """Whether a notice that is sent so arrives here."""
        probe = uuid4().hex
        send(probe)
        until = time.monotonic() + PATIENCE
        while probe not in self._heard:
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._wait(left)
        self._heard = [payload for payload in self._heard if payload != probe]
        self._pass_on()
        return True

    def _send(self, probe: str) -> None:
        database.fetch("probe", {"probe": probe}, self.using)

    def _send_from_elsewhere(self, probe: str) -> None:
        """One's own notice comes with its statement's answer: a transaction pooler passes that on too."""
        other = connections.create_connection(self.using)
        try:
            other.ensure_connection()
            with other.wrap_database_errors:
                other.connection.execute(sql.load("probe"), {"probe": probe})
        finally:
            other.close()

    def _pass_on(self) -> None:
        """A notice is empty; what is not is somebody's probe."""
        self._last_heard = time.monotonic()
        heard, self._heard = self._heard, []
        if "" in heard:
            self.on_notice()

    def _wait(self, seconds: float) -> bool:
        """Collect notices; False if none came, in that time or before an interruption."""
        raw, ear = self._raw, self._open_ear()
        poll = select.poll()
        for end in (raw, ear):
            poll.register(end.fileno(), select.POLLIN)
        poll.poll(seconds * 1000)
        with suppress(BlockingIOError):
            ear.recv(64)
        with connections[self.using].wrap_database_errors:
            arrived = list(_arrived(raw.pgconn))
        self._heard += arrived
        return bool(arrived)

    def _open_ear(self) -> socket.socket:
        """The end of a pair through which another thread ends a wait."""
        if self._ear is None:
            self._ear, self._mouth = socket.socketpair()
            self._ear.setblocking(False)
            self._mouth.setblocking(False)
        return self._ear

    def _tell_deafness(self) -> None:
        if not self._is_deafness_told:
            self._is_deafness_told = True
            extra = {"event": "deaf", "database": self.using}
            logger.warning(DEAF, self.using, extra=extra)


def _arrived(pgconn: Any) -> Iterator[str]:
    pgconn.consume_input()
    while notice := pgconn.notifies():
        yield notice.extra.decode(errors="replace")
