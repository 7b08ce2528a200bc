"""Slots: how many run, what a body leaves behind in its thread, and that no body can end one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone, translation
from psycopg import IsolationLevel

from django_durable import Snooze, workflow
from django_durable.claim.claimer import Claimer
from django_durable.core.run import Run
from django_durable.core.states import Status
from django_durable.models import WorkflowStatus
from django_durable.worker.service import Service
from django_durable.worker.slots.pool import Pool
from django_durable.worker.slots.tally import Tally
from django_durable.worker.writing.recording import GroupRecorder
from tests.factories import ExecutorFactory
from tests.testapp.models import Ledger
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
LONGEST = 30
somewhere: ContextVar[str] = ContextVar("somewhere", default="nowhere")


class House:
    """A pool with the recorder that it needs."""

    def __init__(self, slots: int) -> None:
        self.recorder = GroupRecorder("default")
        self.service = Service("recorder", self.recorder, using="default")
        self.recorder.wake = lambda: self.service.wake(self.recorder)
        self.service.start()
        self.pool = Pool(slots, self.recorder, Tally(), "default")
        self.ended = threading.Condition()
        self.pool.on_end = self._ended

    def _ended(self, run: Run, outcome: Any) -> None:
        with self.ended:
            self.ended.notify_all()

    def run(self, *bodies: Callable[[], Any]) -> list[str]:
        """Run them one after another; how each ended."""
        handles = [declare(body).enqueue() for body in bodies]
        for run in claim(len(bodies)):
            assert self.pool.submit(run)
            self.await_idle()
        return [handle.status for handle in handles]

    def await_idle(self) -> None:
        with self.ended:
            assert self.ended.wait_for(lambda: self.pool.is_idle, LONGEST)

    def close(self) -> None:
        self.pool.close()
        assert self.pool.join(time.monotonic() + LONGEST)
        assert self.service.stop(LONGEST)


class Gate:
    """A body that says when it began, and waits to be let go."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()

    def __call__(self) -> None:
        self.entered.release()
        assert self.opened.wait(LONGEST)

    def await_entries(self, count: int) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=LONGEST)


_names = iter(range(10_000))


def declare(body: Callable[[], Any]) -> Any:
    def function() -> Any:
        return body()

    return workflow(name=f"test.pool.{next(_names)}")(function)


def claim(count: int) -> list[Run]:
    return Claimer(ExecutorFactory.create().id, "default").claim("default", count).runs


@pytest.fixture
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    house = House(getattr(request, "param", 1))
    yield house
    house.close()


slots = pytest.mark.parametrize("house", [2], indirect=True, ids=["2 slots"])


@slots
def test_slots_are_taken_before_a_body_begins_and_free_when_it_ends(house):
    gate = Gate()
    flow = declare(gate)
    flow.enqueue_many([((), {})] * 2)
    assert house.pool.free_slots == 2
    for run in claim(2):
        house.pool.submit(run)
    assert house.pool.free_slots == 0
    assert house.pool.tally.in_queue("default") == 2
    gate.await_entries(2)
    gate.opened.set()
    house.await_idle()
    assert house.pool.tally.in_queue("default") == 0
    assert house.pool.tally.done == {"claimed": 2, "succeeded": 2}


@slots
def test_a_partition_is_counted_by_itself(house):
    gate = Gate()
    declare(gate).using(partition_key="p").enqueue()
    (run,) = claim(1)
    house.pool.submit(run)
    tally = house.pool.tally
    assert [tally.in_partition("default", key) for key in ("p", "q", None)] == [1, 0, 0]
    gate.opened.set()
    house.await_idle()
    assert tally.in_partition("default", "p") == 0


def snooze() -> None:
    raise Snooze(60)


def leave(code: object = 0) -> None:
    raise SystemExit(code)


def interrupt() -> None:
    raise KeyboardInterrupt


class Own(BaseException):
    pass


def own() -> None:
    raise Own


@pytest.mark.parametrize("body", [snooze, leave, interrupt, own, lambda: 1 / 0, lambda: object()])
def test_however_a_body_ends_its_slot_is_free_and_takes_the_next(house, body):
    _, second = house.run(body, lambda: "fine")
    assert second == Status.SUCCESS
    assert house.pool.tally.total == 0
    assert house.pool.free_slots == 1
    assert len([thread for thread in threading.enumerate() if thread.name.startswith("durable-slot")]) == 1


def test_the_poller_is_told_when_a_body_ended_and_when_its_outcome_is_written(house):
    told = []
    house.pool.on_slot_free = lambda: told.append(house.pool.free_slots)
    house.run(lambda: None, leave)
    house.close()
    assert told == [1] * 4


def test_threads_start_when_they_are_needed_and_no_more_than_slots():
    house = House(4)
    try:
        before = threading.active_count()
        house.run(*[lambda: None] * 6)
        assert threading.active_count() == before + 1
    finally:
        house.close()


# What a body may leave behind: (what it does, what the next one sees, what it has to see)


def ask(question: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchone()[0]


def order(*statements: str) -> Callable[[], None]:
    def body() -> None:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    return body


def open_atomic() -> None:
    transaction.atomic().__enter__()
    Ledger.objects.create(run_id="left open", step="x")


def break_atomic() -> None:
    transaction.atomic().__enter__()
    order("SELECT 1 / 0")()


def turn_off_autocommit() -> None:
    transaction.set_autocommit(False)
    Ledger.objects.create(run_id="left open", step="x")


def begin_raw() -> None:
    connection.ensure_connection()
    connection.connection.execute("BEGIN")
    connection.connection.execute(
        "INSERT INTO testapp_ledger (run_id, step, amount) VALUES ('left open', 'x', 1)"
    )


def close_connection() -> None:
    connection.ensure_connection()
    connection.close()


def close_below_django() -> None:
    connection.ensure_connection()
    connection.connection.close()


def change_isolation() -> None:
    connection.ensure_connection()
    connection.connection.isolation_level = IsolationLevel.SERIALIZABLE


def change_place() -> None:
    translation.activate("de")
    timezone.activate("Asia/Kolkata")
    somewhere.set("else")


def place() -> tuple[str, str, str]:
    return translation.get_language(), timezone.get_current_timezone_name(), somewhere.get()


LEAVINGS = {
    "an open atomic block": (open_atomic, lambda: connection.in_atomic_block, False),
    "a broken atomic block": (break_atomic, lambda: ask("SELECT 1"), 1),
    "autocommit off": (turn_off_autocommit, transaction.get_autocommit, True),
    "a transaction of its own": (begin_raw, lambda: Ledger.objects.count(), 0),
    "no connection": (close_connection, lambda: ask("SELECT 1"), 1),
    "a connection closed below Django": (close_below_django, lambda: ask("SELECT 1"), 1),
    "another search path": (order("SET search_path TO pg_catalog"), Ledger.objects.count, 0),
    "a search path set by function": (
        order("SELECT set_config('search_path', 'pg_catalog', false)"),
        Ledger.objects.count,
        0,
    ),
    "another role": (order("SET ROLE pg_monitor"), lambda: ask("SELECT current_user = session_user"), True),
    "a lock of its session": (
        order("SELECT pg_advisory_lock(7)"),
        lambda: ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"),
        0,
    ),
    "a temporary table": (
        order("CREATE TEMP TABLE left_over (x int)"),
        lambda: ask("SELECT to_regclass('left_over')::text"),
        None,
    ),
    "another isolation": (change_isolation, lambda: ask("SHOW transaction_isolation"), "read committed"),
    "another language, time zone and context": (change_place, place, ("en-us", "UTC", "nowhere")),
}


@pytest.mark.parametrize("what", LEAVINGS)
def test_the_next_run_finds_nothing_of_what_the_last_one_left(house, what):
    """B142"""
    leaves, looks, wanted = LEAVINGS[what]
    seen = []
    statuses = house.run(leaves, lambda: seen.append(looks()), lambda: seen.append(looks()))
    assert statuses[1:] == [Status.SUCCESS] * 2
    assert seen == [wanted] * 2
    assert not Ledger.objects.exists()


def test_a_connection_that_was_left_as_it_was_is_kept(house, settings):
    """Only so far as CONN_MAX_AGE keeps it."""
    seen = []
    settings_dict = connection.settings_dict
    before, settings_dict["CONN_MAX_AGE"] = settings_dict["CONN_MAX_AGE"], None
    try:
        house.run(*[lambda: seen.append(ask("SELECT pg_backend_pid()"))] * 3)
    finally:
        settings_dict["CONN_MAX_AGE"] = before
    assert len(set(seen)) == 1


def test_without_an_age_a_connection_is_kept_for_the_next_run_and_closed_when_the_slot_idles(house):
    seen: list[int] = []
    house.run(*[lambda: seen.append(ask("SELECT pg_backend_pid()"))] * 3)
    assert len(set(seen)) == 1
    alive = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {seen[0]}"
    until = time.monotonic() + LONGEST
    while ask(alive):
        assert time.monotonic() < until


def test_a_connection_that_the_server_ended_while_it_was_kept_fails_no_run(house):
    """B120"""
    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    for _ in range(3):
        assert house.run(lambda: ask("SELECT 1")) == [Status.SUCCESS]
        ask(f"{cut} AND datname = current_database()")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_body_that_forks_and_returns_twice_ends_once(house):
    def fork() -> bool:
        return os.fork() != 0

    statuses = house.run(fork, lambda: None)
    assert statuses == [Status.SUCCESS] * 2
    assert WorkflowStatus.objects.order_by("seq")[0].output == "true"
    _, status = os.wait()
    assert os.waitstatus_to_exitcode(status) == 0


def test_after_it_is_closed_nothing_begins_and_what_had_not_begun_is_handed_back(house):
    gate = Gate()
    flow = declare(gate)
    flow.enqueue_many([((), {})] * 3)
    first, second, third = claim(3)
    house.pool.submit(first)
    gate.await_entries(1)
    house.pool.submit(second)
    assert house.pool.close() == [second]
    assert house.pool.submit(third) is False
    assert house.pool.owned == [first]
    gate.opened.set()
    house.await_idle()
    assert house.pool.tally.done == {"claimed": 2, "released": 1, "succeeded": 1}


def test_outcomes_that_cannot_be_written_hold_back_further_claims():
    """Else a worker would claim without end while the database takes nothing."""
    recorder = GroupRecorder("default")
    pool = Pool(2, recorder, Tally(), "default")
    freed = threading.Semaphore(0)
    pool.on_slot_free = freed.release
    told = []
    echo.enqueue_many([((number,), {}) for number in range(4)])
    for run in claim(4):
        pool.submit(run)
    for _ in range(4):
        assert freed.acquire(timeout=LONGEST)
    assert pool.free_slots == 0
    pool.on_slot_free = lambda: told.append(pool.free_slots)
    recorder.finish()
    assert told == [1, 2, 2, 2]
    pool.close()
    assert pool.join(time.monotonic() + LONGEST)


class TestNoThreadLeft:
    @pytest.fixture
    def house(self, monkeypatch):
        """The system starts no thread from the second one on."""
        house = House(2)
        start, started = threading.Thread.start, []

        def refuse(thread: threading.Thread) -> None:
            if thread.name.startswith("durable-slot") and started:
                raise RuntimeError("can't start new thread")
            started.append(thread)
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse)
        yield house, started
        monkeypatch.undo()
        house.close()

    def test_runs_share_the_slots_that_there_are(self, house):
        house, _ = house
        echo.enqueue_many([((number,), {}) for number in range(4)])
        assert all(house.pool.submit(run) for run in claim(4))
        house.await_idle()
        assert house.pool.tally.done["succeeded"] == 4

    def test_without_any_a_run_is_refused_and_given_back(self, house):
        house, started = house
        started.append(None)
        echo.enqueue()
        (run,) = claim(1)
        assert house.pool.submit(run) is False
        assert house.pool.is_idle
        assert house.pool.free_slots == 2
