"""When positions are built from nothing, and what heals only then."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from django_durable import sql
from django_durable.claim import cursors
from django_durable.claim.claimer import Claimer
from django_durable.claim.identity import Identity
from django_durable.models import Limit, Queue, WorkflowStatus
from django_durable.signals import transition
from tests.mutants import in_sql
from tests.sent import texts
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
INTERVAL = 10.0


class Poll:
    """A worker's polls of one queue; the clock of its positions goes on where it is told to."""

    def __init__(self) -> None:
        self.clock = 1000.0
        self.claimer = Claimer(uuid4(), "default")
        self.passes = 0

    def __call__(self, seconds: float = 0.1) -> list[str]:
        self.clock += seconds
        with CaptureQueriesContext(connection) as sent:
            ready = self.claimer.queues_with_work(["default"])
            taken = [run.id for queue in ready for run in self.claimer.claim(queue, 10).runs]
        self.passes += sum("RECURSIVE walk" in text for text in texts(sent.captured_queries))
        return taken


@pytest.fixture
def poll(monkeypatch: pytest.MonkeyPatch) -> Iterator[Poll]:
    with override_settings(DURABLE={"CURSORS": "always"}):
        polls = Poll()
        monkeypatch.setattr(cursors, "time", SimpleNamespace(monotonic=lambda: polls.clock))
        yield polls


def test_an_exact_tail_spares_the_passes_that_could_find_nothing(poll):
    for number in range(20):
        run = echo.enqueue(number)
        assert poll(INTERVAL) == [run.id]
    assert poll.passes == 1


def test_a_row_that_was_put_in_line_by_hand_is_found_by_the_next_pass(poll):
    poll()
    WorkflowStatus.objects.filter(pk=echo.enqueue().id).update(enqueued_xid=3)
    assert poll(INTERVAL) == []
    assert len(poll(INTERVAL * cursors.PASSES_SPARED)) == 1


def test_an_interval_of_nothing_reads_all_each_time():
    with override_settings(DURABLE={"CURSORS": "always", "FULL_DISCOVERY_INTERVAL": 0}):
        poll = Poll()
        for _ in range(3):
            poll()
    assert poll.passes == 3


def test_a_new_connection_begins_with_a_pass(poll):
    poll()
    connection.close()
    run = echo.enqueue()
    assert poll() == [run.id]
    assert poll.passes == 2


def test_a_server_that_began_anew_behind_a_pooler_begins_with_a_pass(poll):
    """It may have lost the commit of a claim, which waits for no disk: the row is back as it was."""
    poll()
    poll.claimer.cursors.tail._since = "an earlier start"
    WorkflowStatus.objects.filter(pk=echo.enqueue().id).update(enqueued_xid=3)
    assert len(poll()) == 1
    assert poll.passes == 2
    assert poll() == []
    assert poll.passes == 2


def test_a_pass_that_failed_leaves_no_moment_to_go_on_from(poll, monkeypatch):
    with monkeypatch.context() as broken:
        in_sql("walk_ranks", "w.rank > walk.rank", "1 / (w.rank - w.rank) > 0")(broken)
        echo.enqueue()
        with pytest.raises(DatabaseError, match="division by zero"):
            poll()
    connection.close()  # to another server, where the numbers of transactions may be lower
    with CaptureQueriesContext(connection) as sent:
        assert len(poll()) == 1
    assert sql.load("snapshot").strip() in [text.strip() for text in texts(sent.captured_queries)]


def test_a_limit_that_is_the_first_of_all_begins_with_a_pass_by_groups(poll):
    poll()
    Limit.objects.create(key="a", max_running=1)
    runs = [echo.using(limit_key="a").enqueue().id for _ in range(2)]
    assert [*poll(), *poll()] == runs[:1]
    assert poll.passes == 2


def test_a_paused_queue_is_not_read_at_each_poll(poll):
    queue = Queue.objects.filter(name="default")
    echo.enqueue()
    assert len(poll()) == 1
    run = echo.enqueue()
    queue.pause()
    for _ in range(5):
        assert poll() == []
    queue.unpause()
    assert poll() == [run.id]
    assert poll.passes == 2


def test_no_head_is_asked_of_a_queue_known_to_be_paused():
    claimer = Claimer(uuid4(), "default")
    queue = Queue.objects.filter(name="default")
    queue.update(concurrency=1)
    run = echo.enqueue()
    queue.pause()
    claimer.claim("default", 1)
    with CaptureQueriesContext(connection) as sent:
        assert claimer.claim("default", 1).runs == []
    assert not any("w.line IS NOT NULL" in text for text in texts(sent.captured_queries))
    queue.unpause()
    assert [claimed.id for claimed in claimer.claim("default", 1).runs] == [run.id]


def test_a_version_that_becomes_the_newest_begins_with_a_pass(poll):
    def identity(*, newest: bool) -> Identity:
        return Identity(poll.claimer.identity.executor, "a", newest)

    poll.claimer.identity = identity(newest=False)
    run = echo.enqueue()
    WorkflowStatus.objects.update(app_version=None)
    assert [poll(), poll()] == [[], []]
    poll.claimer.identity = identity(newest=False)
    assert (poll(), poll.passes) == ([], 1)
    poll.claimer.identity = identity(newest=True)
    assert (poll(), poll.passes) == ([run.id], 2)


def test_too_many_places_are_left_alone_for_a_while(poll, monkeypatch):
    monkeypatch.setattr(cursors, "MOST_PLACES", 2)
    Limit.objects.create(key="other", max_running=1)
    for number in range(5):
        runs = [echo.using(limit_key=f"k{key}").enqueue(number).id for key in range(3)]
        assert poll() == runs
    assert poll.passes == 1
    poll(cursors.REFUSAL)
    assert poll.passes == 2


class TestTheTailBySequence:
    @pytest.fixture
    def poll(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Poll]:
        with override_settings(DURABLE={"CURSORS": "always", "TAIL": "sequence"}):
            polls = Poll()
            monkeypatch.setattr(cursors, "time", SimpleNamespace(monotonic=lambda: polls.clock))
            yield polls

    def test_it_makes_each_pass_and_reads_on_from_the_last(self, poll):
        floors = []
        for number in range(5):
            run = echo.enqueue(number)
            assert poll(INTERVAL) == [run.id]
            floors += poll.claimer.cursors.tail._floors.values()
        assert poll.passes == 5
        assert floors == sorted(set(floors))

    def test_a_late_commit_waits_for_the_next_pass(self, poll):
        late = connection.copy()
        try:
            with late.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute("SELECT nextval('durable_line_seq'), nextval('durable_arrival_seq')")
                place, arrival = cursor.fetchone()
            poll()
            run = echo.enqueue()
            marks = {"seq": place, "line": place, "group_line": place, "arrival": arrival}
            assert poll() == [run.id]
            second = echo.enqueue()
            WorkflowStatus.objects.filter(pk=second.id).update(**marks)
            assert poll() == []
            assert poll(INTERVAL) == [second.id]
        finally:
            late.close()

    def test_a_cached_sequence_is_read_without_positions_and_with_them_once_it_is_not(self, poll):
        run = echo.enqueue()
        self._cache(5)
        try:
            assert poll() == [run.id]
            assert poll.passes == 0
        finally:
            self._cache(1)
        run = echo.enqueue()
        assert poll() == [run.id]
        assert poll.passes == 1

    def _cache(self, size: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER SEQUENCE durable_arrival_seq CACHE {size}")


@pytest.mark.parametrize("setting", ["on", "off"])
def test_a_claim_behind_positions_leaves_the_sessions_settings_as_they_were(poll, setting):
    met = []

    def note(**_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SHOW enable_sort")
            met.extend(cursor.fetchone())

    with connection.cursor() as cursor:
        cursor.execute(f"SET enable_sort = {setting}")
    transition.connect(note)
    try:
        for number in range(3):
            echo.enqueue(number)
            poll()
    finally:
        transition.disconnect(note)
    note()
    assert met == [setting] * 4
    with connection.cursor() as cursor:
        cursor.execute("RESET enable_sort")


def test_positions_are_kept_where_the_server_binds_parameters(poll, monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "server_side_binding", True)
    connection.close()
    try:
        for number in range(3):
            run = echo.enqueue(number)
            assert poll() == [run.id]
        assert poll.passes == 1
    finally:
        connection.close()


def test_a_question_for_many_idle_queues_makes_none_of_them_a_slow_one():
    """What it costs is that of all of them: as the cost of each it would have each read on its own."""
    names = [f"idle{number}" for number in range(2_000)]
    Queue.objects.bulk_create([Queue(name=name) for name in [*names, "busy"]])
    echo.using(queue="busy").enqueue()
    claimer = Claimer(uuid4(), "default")
    for _ in range(cursors.SLOW_READS + 2):
        assert claimer.queues_with_work([*names, "busy"]) == ["busy"]
    assert not [name for name in names if claimer.cursors.engages(name)]
