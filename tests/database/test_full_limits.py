"""Keys and partitions without room, learned of all at once: which they are, and what a claim makes of it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_durable.claim import full
from django_durable.claim.usage import counted_from
from django_durable.core.planning.budget import QueueLimits, limit_bucket
from django_durable.core.planning.oldest import Oldest
from django_durable.core.states import Status
from django_durable.models import Limit, WorkflowStatus
from tests.database.test_claim_oracle import claimer_of
from tests.queue_world import ELSEWHERE, HERE, ME, PEER, PERIOD, QueueWorld, Row, load_rows
from tests.sent import texts

pytestmark = pytest.mark.django_db

STRANGE = [
    "it's",
    'say "x"',
    "50%",
    "%s",
    "%(keys)s",
    "back\\slash",
    "{a,b}",
    "NULL",
    "ä漢",
    "p:x",
    "k:",
    ";--",
]


def running(name: str | None, seq: int, *, of_key: bool = True, executor: UUID = PEER, **more: Any) -> Row:
    bucket = {"key": name} if of_key else {"partition": name}
    given = {"status": Status.PENDING, "executor": executor, "holds_slot": True, **more}
    return Row(f"r{seq}", seq, **bucket, **given)


def full_keys(oldest: Oldest | None = None) -> list[str]:
    return sorted(full.full_keys(oldest or Oldest(), "default"))


def times(part: str, sent: CaptureQueriesContext) -> int:
    return sum(text.count(part) for text in texts(sent.captured_queries))


class TestKeys:
    def test_are_named_whatever_characters_they_have(self):
        rows = [running(key, seq) for seq, key in enumerate(STRANGE)]
        keys = {name: {"max_running": 1} for key in STRANGE for name in (key, f"{key}!")}
        QueueWorld(rows, keys=keys).load()
        known = Oldest()
        assert full_keys(known) == sorted(STRANGE)
        assert full_keys(known) == sorted(STRANGE)

    def test_are_full_by_what_runs_or_by_what_started(self):
        keys = {
            "runs": {"max_running": 2},
            "has room": {"max_running": 2},
            "waits": {"max_running": 1},
            "left its slot": {"max_running": 1},
            "started": {"max_starts": 2, "window": PERIOD},
            "started long ago": {"max_starts": 1, "window": PERIOD},
            "both, runs": {"max_running": 1, "max_starts": 9, "window": PERIOD},
            "both, started": {"max_running": 9, "max_starts": 1, "window": PERIOD},
        }
        rows = [
            running("runs", 1),
            running("runs", 2, queue=ELSEWHERE),
            running("has room", 3),
            running("waits", 4, status=Status.WAITING, executor=None),
            running("left its slot", 5, status=Status.WAITING, executor=None, holds_slot=False),
            running("both, runs", 6),
            running("of no limit", 7),
        ]
        starts = [("started", 1), ("started", 30), ("started long ago", PERIOD + 5), ("both, started", 1)]
        QueueWorld(rows, keys=keys, starts=[(limit_bucket(key), age) for key, age in starts]).load()
        assert full_keys() == ["both, runs", "both, started", "runs", "started", "waits"]

    def test_none_is_full_where_none_is_limited_or_nothing_runs(self):
        assert full_keys() == []
        QueueWorld(keys={"a": {"max_running": 1}}).load()
        assert full_keys() == []

    def test_tell_from_where_on_to_count_them_and_are_counted_from_there(self):
        QueueWorld([running("a", 1), running("a", 2)], keys={"a": {"max_running": 2}}).load()
        first, second = WorkflowStatus.objects.order_by("claim_seq").values_list("claim_seq", flat=True)
        oldest = Oldest()
        oldest.look(second, frozenset())
        full_keys(oldest)
        assert oldest.of(limit_bucket("a")) == first
        WorkflowStatus.objects.filter(claim_seq=first).update(claim_seq=second - 1 + second)
        oldest.note(limit_bucket("a"), second)
        assert full_keys(oldest) == ["a"]
        oldest.look(3 * second, frozenset())
        oldest.note(limit_bucket("a"), 3 * second)
        assert full_keys(oldest) == []

    def test_behind_as_many_limits_as_are_looked_at_are_counted_as_they_are_met(self, monkeypatch):
        monkeypatch.setattr(full, "MOST_LIMITS", 20)
        names = [f"full{number:02}" for number in range(40)]
        rows = [running(key, 100 + seq) for seq, key in enumerate(names)]
        rows += [Row(f"w{seq}", seq, key=key) for seq, key in enumerate([*names, "zfree", "zfree"], 1)]
        world = QueueWorld(rows, keys={key: {"max_running": 1} for key in [*names, "zfree"]}, slots=1)
        world.load()
        assert full_keys() == names[:20]
        assert [run.id for run in claimer_of(world).claim(HERE, 1).runs] == ["w41"] == world.expected()

    def test_are_asked_for_with_no_more_of_what_is_known_than_is_looked_at(self, monkeypatch):
        monkeypatch.setattr(full, "MOST_LIMITS", 2)
        QueueWorld([running("b", 1)], keys={key: {"max_running": 1} for key in "abc"}).load()
        known = Oldest()
        for key in "cbdafe":
            known.note(limit_bucket(key), 7)
        with CaptureQueriesContext(connection) as sent:
            assert full_keys(known) == ["b"]
        assert times("'a\x1fb'", sent) == 1

    @pytest.mark.parametrize("fair", [False, True])
    def test_are_asked_for_once_where_a_claim_met_many_and_their_rows_are_not_read(self, fair):
        names = [f"full{number:02}" for number in range(60)]
        rows = [running(key, 9000 + seq) for seq, key in enumerate(names)]
        rows += [Row(f"w{seq}", seq, key=names[seq % 60]) for seq in range(1, 3000)]
        rows += [Row(f"free{seq}", 5000 + seq, key="free") for seq in range(3)]
        keys = {key: {"max_running": 1} for key in [*names, "free"]}
        world = QueueWorld(rows, {"fair": fair}, keys={**keys, "free": {"max_running": 2}}, slots=5)
        world.load()
        with CaptureQueriesContext(connection) as sent:
            claims = claimer_of(world).claim(HERE, world.slots)
        assert [run.id for run in claims.runs] == ["free0", "free1"] == world.expected()
        assert times("AS full_key", sent) == 1
        assert times("AS asked (key, oldest)", sent) == 3  # what the first window met, the free one, its lock
        assert claims.stopped_by is not None
        assert not claims.stopped_by.line_ended

    def test_that_got_room_are_taken_by_the_next_claim(self):
        names = [f"full{number:02}" for number in range(25)]
        rows = [running(key, 9000 + seq) for seq, key in enumerate(names)]
        rows += [Row(f"w{seq}", seq, key=key) for seq, key in enumerate(names, 1)]
        world = QueueWorld(rows, keys={key: {"max_running": 1} for key in names})
        world.load()
        claimer = claimer_of(world)
        assert claimer.claim(HERE, 5).runs == []
        Limit.objects.filter(key="full07").update(max_running=2)
        WorkflowStatus.objects.filter(id="r9003").update(limit_key=None)
        assert [run.id for run in claimer.claim(HERE, 5).runs] == ["w4", "w8"]


class TestPartitions:
    def named(self, **limits: int) -> set[str | None]:
        counted = counted_from(HERE, ME, Oldest())
        return set(full.full_partitions(QueueLimits(**limits), counted, "default"))

    def test_are_named_whatever_characters_they_have_and_the_null_partition_is_one(self):
        names = [None, *STRANGE]
        load_rows([running(name, seq, of_key=False) for seq, name in enumerate(names)])
        assert self.named(partition_concurrency=1) == set(names)
        assert self.named(partition_concurrency=2) == set()

    def test_the_null_partition_alone_is_no_empty_answer(self):
        load_rows([running(None, 1, of_key=False)])
        assert full.full_partitions(
            QueueLimits(partition_concurrency=1), counted_from(HERE, ME, Oldest()), "default"
        ) == [None]

    def test_are_full_in_the_fleet_or_in_this_worker(self):
        load_rows(
            [
                running("mine", 1, of_key=False, executor=ME),
                running("theirs", 2, of_key=False),
                running("both", 3, of_key=False, executor=ME),
                running("both", 4, of_key=False),
                running("elsewhere", 5, of_key=False, queue=ELSEWHERE),
                running("elsewhere", 6, of_key=False, queue=ELSEWHERE),
            ]
        )
        assert self.named(partition_concurrency=2) == {"both"}
        assert self.named(partition_worker_concurrency=1) == {"mine", "both"}
        assert self.named(partition_concurrency=2, partition_worker_concurrency=1) == {"mine", "both"}
        assert self.named(concurrency=1, partition_rate_limit=1) == set()

    def test_are_asked_for_once_where_a_claim_met_many_together_with_other_limits(self):
        names = [None, *(f"full{number:02}" for number in range(60))]
        rows = [running(name, 9000 + seq, of_key=False) for seq, name in enumerate(names)]
        rows += [Row(f"w{seq}", seq, partition=names[seq % 61]) for seq in range(1, 2000)]
        rows += [Row(f"free{seq}", 5000 + seq, partition=f"free{seq % 4}", key="k") for seq in range(12)]
        limits = {"concurrency": 70, "worker_concurrency": 6, "partition_concurrency": 1}
        world = QueueWorld(rows, limits, keys={"k": {"max_running": 3}}, slots=8)
        world.load()
        with CaptureQueriesContext(connection) as sent:
            claims = claimer_of(world).claim(HERE, world.slots)
        assert [run.id for run in claims.runs] == ["free0", "free1", "free2"] == world.expected()
        assert times("AS full_one", sent) == 1
        assert times("coalesce(w.partition_key, '') IN", sent) == 2  # of the first window, and the free ones
