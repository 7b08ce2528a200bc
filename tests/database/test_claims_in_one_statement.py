"""Claims of a queue that nothing reorders: one statement that is all of a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from django_durable.claim.claimer import Claimer
from django_durable.models import Limit, Queue, WorkflowStatus
from django_durable.models.database import Clock
from django_durable.signals import transition
from tests.factories import ExecutorFactory
from tests.mutants import in_sql
from tests.sent import texts
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
QUEUE = "default"


class Poll:
    """Questions and claims of one worker; `sent`: the statements of the last claim."""

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self.claimer = Claimer(ExecutorFactory.create().id, "default")
        self.sent: list[str] = []
        self()

    def __call__(self, slots: int = 10, after_the_question: Callable[[], object] = lambda: None) -> list[str]:
        if not self.claimer.queues_with_work([QUEUE]):
            return []
        after_the_question()
        with CaptureQueriesContext(connection) as captured:
            runs = self.claimer.claim(QUEUE, slots).runs
        self.sent = texts(captured.captured_queries)
        return [run.id for run in runs]


@pytest.fixture(params=["claim_head", "claim_behind"])
def poll(request: pytest.FixtureRequest) -> Iterator[Poll]:
    is_warm = request.param == "claim_behind"
    with override_settings(DURABLE={"CURSORS": "always" if is_warm else "never"}):
        yield Poll(request.param)


@contextmanager
def held(*ids: str) -> Iterator[None]:
    """A peer has locked these rows, and lets them be in the end."""
    peer = connection.copy()
    try:
        with peer.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT FROM durable_workflow_status WHERE id = ANY(%s) FOR UPDATE", [list(ids)])
            yield
            cursor.execute("ROLLBACK")  # a session that is closed lets go a moment later
    finally:
        peer.close()


def enqueue(count: int, **options: object) -> list[str]:
    return [echo.using(**options).enqueue(number).id for number in range(count)]


def in_status(status: str) -> set[str]:
    return set(WorkflowStatus.objects.filter(status=status).values_list("pk", flat=True))


def test_a_claim_is_one_round_trip_and_committed(poll):
    ids = enqueue(3)
    assert poll() == ids
    assert len(poll.sent) == 1
    assert f"FROM {'head' if poll.statement == 'claim_head' else 'seen'}" in poll.sent[0]
    connection.close()
    assert in_status("PENDING") == set(ids)


def test_rows_are_taken_in_rank_order(poll):
    late, soon, sooner = enqueue(2), enqueue(2, priority=5), enqueue(1, priority=9)
    assert poll(slots=4) == [*sooner, *soon, late[0]]
    assert poll() == late[1:]


def test_rows_of_a_higher_rank_go_first_however_many_of_it_peers_hold(poll):
    high, low = enqueue(5, priority=5), enqueue(2)
    with held(*high[:4]):
        assert poll(slots=1) == high[4:]
        assert poll(slots=1) == low[:1]
    assert poll() == [*high[:4], low[1]]


def test_rows_that_peers_hold_leave_their_slots_to_the_next_and_keep_their_place(poll):
    ids = enqueue(4)
    with held(ids[0], ids[2]):
        assert poll(slots=2) == [ids[1], ids[3]]
    assert poll() == [ids[0], ids[2]]


def test_more_rows_than_are_looked_at_may_be_held_by_peers(poll):
    ids = enqueue(6)
    with held(*ids[:3]):
        assert poll(slots=2) == ids[3:5]
    assert poll() == [*ids[:3], ids[5]]


def test_a_row_whose_time_is_over_is_not_taken(poll):
    ids = enqueue(2)
    WorkflowStatus.objects.filter(pk=ids[0]).update(expires_at=Clock() - timedelta(seconds=1))
    assert poll() == ids[1:]


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        (lambda: Queue.objects.update(paused_at=Clock()), 0),
        (lambda: Queue.objects.update(concurrency=1), 1),
        (lambda: Queue.objects.update(worker_concurrency=2), 2),
        (lambda: Queue.objects.update(partition_concurrency=3), 3),
        (lambda: Queue.objects.update(rate_limit=1, rate_period=timedelta(minutes=1)), 1),
        (lambda: Limit.objects.create(key="k", max_running=2), 2),
        (lambda: Queue.objects.update(fair=True), 5),
    ],
    ids=["paused", "concurrency", "worker", "partition", "rate", "key", "fair"],
)
def test_what_changed_since_the_question_holds(poll, change, taken):
    ids = enqueue(5, limit_key="k")
    assert poll(after_the_question=change) == ids[:taken]
    assert len(in_status("PENDING")) == taken


def test_within_an_outer_transaction_a_claim_is_refused(poll):
    enqueue(1)
    poll.claimer.queues_with_work([QUEUE])
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        poll.claimer.claim(QUEUE, 1)
    assert in_status("PENDING") == set()


def test_who_listens_to_claims_takes_part_in_their_transaction(poll):
    enqueue(1)

    def refuse(verb: str, **_: object) -> None:
        assert verb != "claim" or connection.in_atomic_block
        raise ZeroDivisionError

    transition.connect(refuse)
    try:
        with pytest.raises(ZeroDivisionError):
            poll()
    finally:
        transition.disconnect(refuse)
    assert in_status("PENDING") == set()


def test_a_session_of_another_isolation_claims_in_a_transaction(poll):
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_isolation = 'serializable'")
    ids = enqueue(2)
    assert poll() == ids
    assert len(poll.sent) > 1


def test_no_claim_waits_for_the_disk_and_what_follows_does(poll):
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
        cursor.execute(NOTE_HOW_CLAIMS_COMMIT)
    try:
        enqueue(1)
        poll()
        with connection.cursor() as cursor:
            cursor.execute("SELECT waits FROM commits")
            assert cursor.fetchall() == [("off",)]
            cursor.execute("SHOW synchronous_commit")
            assert cursor.fetchone() == ("on",)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE commits CASCADE; DROP FUNCTION note_commit CASCADE")


NOTE_HOW_CLAIMS_COMMIT = """
CREATE TABLE commits (waits text);
CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO commits VALUES (current_setting('synchronous_commit'));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER note_commit AFTER UPDATE ON durable_workflow_status
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_commit();
"""


@pytest.mark.parametrize(
    ("test", "old", "new"),
    [
        (
            test_more_rows_than_are_looked_at_may_be_held_by_peers,
            "(SELECT count(*) FROM free) = least((SELECT count(*) FROM seen), %(slots)s)",
            "true",
        ),
        (
            test_rows_that_peers_hold_leave_their_slots_to_the_next_and_keep_their_place,
            "FROM seen\nLEFT JOIN",
            "FROM seen\nJOIN",
        ),
    ],
    ids=["all or none", "what is seen is told"],
)
def test_a_broken_rule_is_noticed(test, old, new, monkeypatch):
    in_sql("claim_behind", old, new)(monkeypatch)
    with override_settings(DURABLE={"CURSORS": "always"}), pytest.raises(AssertionError):
        test(Poll("claim_behind"))
