"""Notices: heard when they arrive, missed without harm, and known to be missed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from django_durable.engine.launching import notices
from django_durable.worker.polling import listener as module
from django_durable.worker.polling.listener import Listener
from django_durable.worker.service import Service
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
LONGEST = 30


class Ear:
    """A listener at work, and what it heard."""

    def __init__(self) -> None:
        self.listener = Listener("default")
        self.notices = threading.Semaphore(0)
        self.listener.on_notice = self.notices.release
        self.service = Service("listener", self.listener, using="default", interrupt=self.listener.interrupt)

    def hears(self) -> bool:
        return self.notices.acquire(timeout=LONGEST)

    @property
    def hears_nothing(self) -> bool:
        return not self.notices.acquire(blocking=False)


@pytest.fixture
def ear(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ear]:
    monkeypatch.setattr(notices, "_throttle", notices.Throttle(1_000))
    ear = Ear()
    ear.service.start()
    assert ear.hears()  # the connect
    yield ear
    assert ear.service.stop(LONGEST)


def cut_listeners() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def test_an_enqueue_is_heard_when_it_commits(ear):
    echo.enqueue(1)
    assert ear.hears()


def test_an_enqueue_that_is_rolled_back_is_not_heard(ear):
    from django.db import transaction

    with transaction.atomic():
        echo.enqueue(1)
        transaction.set_rollback(True)
    echo.enqueue(2)
    assert ear.hears()
    assert ear.hears_nothing


def test_a_probe_of_another_worker_is_no_notice(ear):
    other = Ear()
    other.service.start()
    assert other.hears()
    assert other.service.stop(LONGEST)
    assert ear.hears_nothing


def test_it_connects_again_when_it_was_cut_and_wakes_whom_it_may_have_missed(ear, caplog):
    with caplog.at_level(logging.INFO, "django_durable"):
        assert cut_listeners() == 1
        assert ear.hears()
        echo.enqueue(1)
        assert ear.hears()
    assert [record.event for record in caplog.records] == ["outage", "outage_over"]


def test_it_stops_at_once_though_it_waits(ear):
    assert ear.service.stop(5)


def test_where_no_notice_arrives_it_says_so_once_and_leaves_the_connection(monkeypatch, caplog):
    """As behind a transaction pooler: the statement succeeds, and the server's notice goes nowhere."""
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    monkeypatch.setattr(module, "_arrived", lambda pgconn: iter(()))
    monkeypatch.setattr(Listener, "_hear", lambda self, notice: None)
    listener = Listener("default")
    with caplog.at_level(logging.INFO, "django_durable"):
        assert listener.tick() == module.RETRY_WHEN_DEAF
        assert listener.tick() == module.RETRY_WHEN_DEAF
    assert not listener.is_hearing
    assert connection.connection is None
    assert [(record.event, record.levelname) for record in caplog.records] == [("deaf", "WARNING")]
    assert "LISTEN_DATABASE" in caplog.text


def test_the_proof_that_notices_arrive_comes_from_another_session(monkeypatch):
    """Through a transaction pooler a session hears what it sends itself, and nothing else."""
    senders, arrived = [], module._arrived

    class Noting:
        def __init__(self, pgconn):
            self.pgconn = pgconn

        def consume_input(self):
            self.pgconn.consume_input()

        def notifies(self):
            notice = self.pgconn.notifies()
            if notice:
                senders.append(notice.be_pid)
            return notice

    monkeypatch.setattr(module, "_arrived", lambda pgconn: arrived(Noting(pgconn)))
    listener = Listener("default")
    listener.tick()
    own = connection.connection.info.backend_pid
    listener.finish()
    assert len(senders) == 1
    assert senders != [own]


def test_a_connection_that_went_quiet_is_probed_again(monkeypatch):
    monkeypatch.setattr(module, "QUIET", 0.01)
    monkeypatch.setattr(module, "PROBE_AFTER", 0.0)
    listener = Listener("default")
    listener.tick()
    assert listener.is_hearing
    probes = []
    monkeypatch.setattr(listener, "_comes_back", lambda send: bool(probes.append(send)) or True)
    listener.tick()
    assert probes == [listener._send]
    listener.finish()
