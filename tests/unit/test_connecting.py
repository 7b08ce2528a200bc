"""Which refusals of a connection a worker waits out, as libpq tells them of a server that refuses."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from django.db.utils import ConnectionHandler
from psycopg import pq

from django_durable.worker import connecting

NO_ENCRYPTION = {80877103, 80877104}  # what asks for TLS and GSS
LASTING = {
    "3D000": 'database "shop" does not exist',
    "28000": 'role "ada" does not exist',
    "28P01": 'password authentication failed for user "ada"',
    "42501": 'permission denied for database "shop"',
    "08P01": "no such database: shop",
}
PASSING = {
    "57P03": "the database system is starting up",
    "53300": "sorry, too many clients already",
    "55000": 'database "shop" is not currently accepting connections',
    "XX000": 'relation mapping file "global/pg_filenode.map" does not exist',
}
IN_GERMAN = {
    "3D000": "Datenbank »shop« existiert nicht",
    "28000": "Rolle »ada« existiert nicht",
    "28P01": "Passwort-Authentifizierung für Benutzer »ada« fehlgeschlagen",
    "42501": "keine Berechtigung für Datenbank »shop«",
}
PASSING_IN_GERMAN = {
    "57P03": "das Datenbanksystem startet",
    "53300": "tut mir leid, schon zu viele Verbindungen",
}
HBA = 'no pg_hba.conf entry for host "10.0.0.1", user "ada", database "shop", no encryption'


class Refuser:
    """Answers every start of a session with one error."""

    def __init__(self, code: str, message: str) -> None:
        self._answer = self._packet(code, message)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                session, _ = self._socket.accept()
            except OSError:
                return
            with session:
                self._refuse(session)

    def _refuse(self, session: socket.socket) -> None:
        while head := session.recv(8, socket.MSG_WAITALL):
            length, what = struct.unpack("!II", head)
            session.recv(length - 8, socket.MSG_WAITALL) if length > 8 else None
            if what not in NO_ENCRYPTION:
                session.sendall(self._answer)
                return
            session.sendall(b"N")

    def _packet(self, code: str, message: str) -> bytes:
        fields = b"".join(
            mark + text.encode() + b"\0" for mark, text in ((b"S", "FATAL"), (b"C", code), (b"M", message))
        )
        return b"E" + struct.pack("!I", len(fields) + 5) + fields + b"\0"


@pytest.fixture
def refusers() -> Iterator[list[Refuser]]:
    running: list[Refuser] = []
    yield running
    for refuser in running:
        refuser.close()


@pytest.fixture
def connect(monkeypatch):
    """Configure the only database, and try it."""

    def connect(**settings: object) -> str | None:
        base = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "shop",
            "USER": "ada",
            "PASSWORD": "secret",
        }
        monkeypatch.setattr(connecting, "connections", ConnectionHandler({"default": {**base, **settings}}))
        return connecting.refused_for_good("default")

    return connect


@pytest.mark.parametrize(("code", "message"), [*LASTING.items(), ("28000", HBA)])
def test_a_refusal_that_no_waiting_will_mend_is_told_in_one_line(refusers, connect, code, message):
    refusers.append(Refuser(code, message))
    told = connect(HOST="127.0.0.1", PORT=refusers[0].port)
    assert message in told
    assert "\n" not in told
    assert "secret" not in told


@pytest.mark.parametrize(("code", "message"), PASSING.items())
def test_one_that_may_pass_is_not(refusers, connect, code, message):
    refusers.append(Refuser(code, message))
    assert connect(HOST="127.0.0.1", PORT=refusers[0].port) is None


tells_codes = pytest.mark.skipif(
    pq.version() < 180000 or not hasattr(os, "memfd_create"), reason="this libpq does not tell codes"
)


@tells_codes
@pytest.mark.parametrize(("code", "message"), IN_GERMAN.items())
def test_a_lasting_refusal_is_known_in_any_language(refusers, connect, code, message):
    refusers.append(Refuser(code, message))
    assert message in connect(HOST="127.0.0.1", PORT=refusers[0].port)


@tells_codes
@pytest.mark.parametrize(("code", "message"), PASSING_IN_GERMAN.items())
def test_a_passing_one_is_waited_out_in_any_language(refusers, connect, code, message):
    refusers.append(Refuser(code, message))
    assert connect(HOST="127.0.0.1", PORT=refusers[0].port) is None


@tells_codes
def test_each_of_several_hosts_is_asked_for_its_code(refusers, connect):
    refusers += [Refuser("28P01", IN_GERMAN["28P01"]), Refuser("57P03", PASSING_IN_GERMAN["57P03"])]
    here, there = (str(refuser.port) for refuser in refusers)
    hosts = "127.0.0.1,127.0.0.1"
    assert connect(HOST=hosts, PORT=f"{here},{here}") is not None
    assert connect(HOST=hosts, PORT=f"{here},{there}") is None


def test_a_host_that_is_away_beside_one_that_refuses_may_be_the_right_one(refusers, connect):
    refusers += [Refuser("28P01", LASTING["28P01"]), Refuser("57P03", PASSING["57P03"])]
    here, there = (str(refuser.port) for refuser in refusers)
    hosts = "127.0.0.1,127.0.0.1"
    assert connect(HOST=hosts, PORT=f"{here},{here}") is not None
    assert connect(HOST=hosts, PORT=f"{here},{there}") is None
    assert connect(HOST=hosts, PORT=f"{there},{here}") is None


@pytest.mark.parametrize(
    "settings",
    [
        {"PORT": "abc"},
        {"NAME": "", "OPTIONS": {}},
        {"OPTIONS": {"sslmode": "perhaps"}},
        {"OPTIONS": {"no_such_option": 1}},
        {"OPTIONS": {"service": "nowhere"}, "NAME": ""},
    ],
    ids=str,
)
def test_what_was_never_sent_for_a_fault_of_the_settings_is_told(connect, settings):
    assert connect(HOST="127.0.0.1", **settings)


def test_a_pool_is_not_waited_for(refusers, connect):
    refusers.append(Refuser("3D000", LASTING["3D000"]))
    assert connect(HOST="127.0.0.1", PORT=refusers[0].port, OPTIONS={"pool": True})


def test_nobody_at_the_address_is_an_outage(connect):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert connect(HOST="127.0.0.1", PORT=port) is None
    assert connect(HOST="nowhere.invalid") is None
