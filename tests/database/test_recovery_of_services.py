"""A background part whose work fails: told once, tried again, never ended in silence."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError, connections

from django_durable.worker.service import LONGEST_PAUSE, SHORTEST_PAUSE, SPREAD, Duty, Service
from django_durable.worker.trouble import Outages

pytestmark = pytest.mark.django_db(transaction=True)
LONGEST = 30


class Script(Duty):
    """Does what it is told to, one thing a tick, and rests for ever when it has done all."""

    name = "script"

    def __init__(self, *acts: Callable[[], object]) -> None:
        self.acts = list(acts)
        self.all_done = threading.Event()
        self.finished = threading.Event()

    def tick(self) -> float:
        if self.acts:
            self.acts.pop(0)()
            return 0.0
        self.all_done.set()
        return math.inf

    def finish(self) -> None:
        self.finished.set()


@pytest.fixture
def run() -> Iterator[Callable[..., Script]]:
    services: list[Service] = []

    def run(*acts: Callable[[], object], outages: Outages | None = None) -> Script:
        script = Script(*acts)
        services.append(Service("script", script, using="default", outages=outages, longest_pause=0.05))
        services[-1].start()
        assert script.all_done.wait(LONGEST)
        return script

    yield run
    for service in services:
        assert service.stop(LONGEST)


def ask() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT 1")


def lose_connection() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def fail(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.event, record.levelname) for record in caplog.records]  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, "django_durable"):
        yield


def test_an_error_is_told_once_a_kind_and_its_end_too(run, caplog):
    run(fail(ValueError()), fail(ValueError()), fail(KeyError()), ask)
    assert told(caplog) == [("failure", "ERROR"), ("failure", "ERROR"), ("recovered", "INFO")]
    assert "after 3 failures" in caplog.text


def test_the_same_error_after_it_was_over_is_told_again(run, caplog):
    run(fail(ValueError()), ask, fail(ValueError()), ask)
    assert [event for event, _ in told(caplog)] == ["failure", "recovered"] * 2


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_nothing_that_is_raised_ends_it(run, error):
    run(fail(error), ask)


def test_a_lost_connection_is_told_as_an_outage_and_the_next_try_has_another(run, caplog):
    run(ask, lose_connection, ask)
    assert told(caplog) == [("outage", "WARNING"), ("outage_over", "INFO")]


def test_one_outage_is_told_once_for_all_who_notice_it(caplog):
    outages = Outages()
    first, second = object(), object()
    outages.began(first, "default", OperationalError("away"))
    outages.began(second, "default", OperationalError("away"))
    outages.ended(first, "default")
    assert [event for event, _ in told(caplog)] == ["outage"]
    outages.ended(second, "default")
    assert [event for event, _ in told(caplog)] == ["outage", "outage_over"]


def test_an_error_of_the_database_that_is_not_its_absence_is_told_as_an_error(run, caplog):
    def divide() -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    run(divide, ask)
    assert told(caplog) == [("failure", "ERROR"), ("recovered", "INFO")]
    assert caplog.records[0].sqlstate == "22012"


def test_one_duty_that_fails_holds_up_no_other_on_its_thread():
    class Broken(Duty):
        name = "broken"

        def tick(self) -> float:
            raise ValueError

    works = Script(ask, ask)
    service = Service("two", Broken(), works, using="default", longest_pause=0.05)
    service.start()
    assert works.all_done.wait(LONGEST)
    assert service.stop(LONGEST)


def test_a_wake_cuts_a_rest_but_not_the_pause_after_a_failure():
    failures = threading.Semaphore(0)

    class Failing(Duty):
        name = "failing"

        def tick(self) -> float:
            failures.release()
            raise ValueError

    service = Service("failing", Failing(), using="default", longest_pause=0.2)
    service.start()
    for _ in range(3):
        assert failures.acquire(timeout=LONGEST)
    for _ in range(1_000):
        service.wake()
    assert not failures.acquire(blocking=False)
    assert service.stop(LONGEST)


def test_parts_of_many_workers_that_failed_together_try_again_apart():
    services = [Service("part", Script(), using="default") for _ in range(20)]
    for failures in range(8):
        pauses = [service._failed(service._turns[0], ValueError("down")) for service in services]
        longest = min(SHORTEST_PAUSE * 2**failures, LONGEST_PAUSE)
        assert all(longest * SPREAD <= pause <= longest for pause in pauses)
        assert max(pauses) - min(pauses) > longest * SPREAD / 4


def test_a_tick_that_waits_for_an_answer_that_does_not_come_can_be_cut(caplog):
    begins = threading.Event()
    before = _sessions()
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(1)")

    def hang() -> None:
        connections["default"].ensure_connection()
        begins.set()
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(1)")

    script = Script(hang, ask)
    service = Service("hanging", script, using="default")
    service.start()
    try:
        assert begins.wait(LONGEST)
        assert service.stuck_for > 0
        while not script.all_done.wait(0.05):
            service.sever()
        assert [event for event, _ in told(caplog)] == ["outage", "outage_over"]
    finally:
        assert service.stop(LONGEST)
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock_all()")
        while _sessions() > before:  # the server learns of the cut when it answers
            pass


def test_what_is_left_to_do_is_done_at_the_end_and_an_error_there_holds_up_nothing(caplog):
    class Clumsy(Script):
        def finish(self) -> None:
            raise ValueError("too late")

    clumsy, script = Clumsy(), Script()
    service = Service("last", clumsy, script, using="default")
    service.start()
    assert service.stop(LONGEST)
    assert script.finished.is_set()
    assert told(caplog) == [("unfinished", "WARNING")]


def test_it_leaves_no_connection_behind(run, transactional_db):
    run(ask)
    before = _sessions()
    script = Script(ask)
    service = Service("tidy", script, using="default")
    service.start()
    assert script.all_done.wait(LONGEST)
    own = _sessions() - before
    assert len(own) == 1
    assert service.stop(LONGEST)
    until = time.monotonic() + LONGEST
    while own & _sessions():  # the server takes a moment to see that a client left
        assert time.monotonic() < until


def _sessions() -> set[int]:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return {pid for (pid,) in cursor.fetchall()}
