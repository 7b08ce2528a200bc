"""A line to the database that can go dead without being cut: what is sent into it disappears."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

GLANCE = 0.05
CHUNK = 65_536


class Proxy:
    """Forwards a Unix socket in `folder` to the server of `url`, one thread for all lines."""

    def __init__(self, folder: Path, url: str) -> None:
        self._server = conninfo_to_dict(url)
        self._lines: dict[socket.socket, socket.socket] = {}
        self._dead: set[socket.socket] = set()
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / ".s.PGSQL.5432"))
        self._door.listen()
        self._is_open = True
        self.url = (
            f"postgresql://{self._server.get('user', '')}@/{self._server['dbname']}"
            f"?host={quote(str(folder), safe='')}&port=5432"
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def deaden(self) -> None:
        """Forward nothing more on the lines there are; those that come later are fine."""
        self._dead |= set(self._lines)

    def close(self) -> None:
        self._is_open = False
        self._thread.join()
        for end in (self._door, *self._lines):
            end.close()

    def _run(self) -> None:
        while self._is_open:
            alive = [end for end in self._lines if end not in self._dead]
            for end in select.select([self._door, *alive], [], [], GLANCE)[0]:
                if end is self._door:
                    self._accept()
                elif end in self._lines and end not in self._dead:
                    self._forward(end)

    def _accept(self) -> None:
        near, _ = self._door.accept()
        host, port = str(self._server["host"]), str(self._server["port"])
        if host.startswith("/"):
            far = socket.socket(socket.AF_UNIX)
            far.connect(f"{host}/.s.PGSQL.{port}")
        else:
            far = socket.create_connection((host, int(port)))
        self._lines[near], self._lines[far] = far, near

    def _forward(self, end: socket.socket) -> None:
        other = self._lines[end]
        with suppress(OSError):
            if data := end.recv(CHUNK):
                other.sendall(data)
                return
        for one in (end, other):
            del self._lines[one]
            one.close()
