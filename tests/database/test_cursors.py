"""Positions against the oracle: random histories of claimers and peers, and the rules they die without.

The interval of the full pass is an hour here, so that it heals nothing: what a claim misses stays missed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection
from django.test import override_settings

from django_durable import sql
from django_durable.claim import cursors, positioned
from django_durable.claim.claimer import Claimer
from django_durable.claim.tail import Snapshot
from django_durable.core.planning import planner, positions
from django_durable.core.planning.candidates import END, Candidate
from django_durable.core.planning.limits import Rooms
from django_durable.core.planning.positions import Floor, Positions
from django_durable.models import Limit, Queue, WorkflowStatus
from tests import oracle
from tests.mutants import in_sql

pytestmark = pytest.mark.django_db(transaction=True)

ALWAYS = {"CURSORS": "always", "FULL_DISCOVERY_INTERVAL": 3600}
KEYS = [None, "a", "b", "c"]


class History:
    """One queue, some claimers with positions of their own, and peers with transactions that stay open."""

    PARTITIONS: ClassVar[list[str | None]] = [None, None, "p"]

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.queue = Queue.objects.create(name=f"line-{seed}", fair=self.dice.random() < 0.4)
        self.limits = {key: self.dice.randint(1, 3) for key in "ab" if self.dice.random() < 0.6}
        Limit.objects.bulk_create(Limit(key=key, max_running=most) for key, most in self.limits.items())
        self.claimers = [Claimer(uuid4(), "default") for _ in range(2)]
        self.peers: list[tuple[psycopg.Connection[Any], list[str]]] = []
        self.differences: list[str] = []

    def run(self, length: int) -> None:
        steps = [self.enqueue, self.enqueue_openly, self.hold, self.end_a_peer, self.requeue, self.settle]
        steps += [
            self.claim,
            self.claim,
            self.claim,
            self.claim_behind_a_look,
            self.restart,
            self.fail_a_claim,
        ]
        for _ in range(length):
            self.dice.choice(self.dice.choice([steps, steps, steps, [self.edit_limits, self.pause]]))()
        self.dismiss_peers()
        for _ in range(2):
            self.claim()

    def dismiss_peers(self) -> None:
        for peer, _ in self.peers:
            peer.rollback()
            peer.close()
        self.peers.clear()

    def enqueue(self) -> None:
        with connection.cursor() as cursor:
            for _ in range(self.dice.randint(1, 6)):
                cursor.execute(sql.load("enqueue"), self._row())

    def enqueue_openly(self) -> None:
        peer = self._peer()
        for _ in range(self.dice.randint(1, 3)):
            peer.execute(sql.load("enqueue"), self._row())
        self.peers.append((peer, []))

    def hold(self) -> None:
        """A peer has claimed rows and not yet committed."""
        free = sorted(self._in_line() - self._held())
        chosen = self.dice.sample(free, min(len(free), 2))
        peer = self._peer()
        if chosen:
            params = {"ids": chosen, "queue": self.queue.name, "executor": uuid4(), "token": uuid4()}
            peer.execute(sql.load("mark_claimed"), {**params, "version": None, "newest": True})
        self.peers.append((peer, chosen))

    def end_a_peer(self) -> None:
        if self.peers:
            peer, _ = self.peers.pop(self.dice.randrange(len(self.peers)))
            self.dice.choice([peer.commit, peer.rollback])()
            peer.close()

    def requeue(self) -> None:
        for run in self._running(2):
            params = {"ids": [run.id], "tokens": [run.claim_token], "forgiven": 1}
            self._execute("release", params)

    def settle(self) -> None:
        for run in self._running(3):
            WorkflowStatus.objects.filter(pk=run.id).delete()

    def edit_limits(self) -> None:
        """A key gets its first limit, another one, or loses it; the queue turns fair or back."""
        if self.dice.random() < 0.5:
            key = self.dice.choice("ab")
            self.limits.pop(key, None)
            if self.dice.random() < 0.7:
                self.limits[key] = self.dice.randint(1, 3)
            Limit.objects.filter(key=key).delete()
            most = self.limits.get(key)
            Limit.objects.bulk_create([Limit(key=key, max_running=most)] if most else [])
        elif self.dice.random() < 0.3:
            self.queue.fair = not self.queue.fair
            self.queue.save()

    def pause(self) -> None:
        """Nothing is taken meanwhile, and nothing missed afterwards."""
        queue = Queue.objects.filter(name=self.queue.name)
        queue.pause()
        for claimer in self.claimers:
            self.differences += [run.id for _ in range(2) for run in claimer.claim(self.queue.name, 3).runs]
        self.enqueue()
        queue.unpause()

    def restart(self) -> None:
        if self.dice.random() < 0.2:
            self.claimers[self.dice.randrange(2)] = Claimer(uuid4(), "default")

    def fail_a_claim(self) -> None:
        """A claim that raises at its end takes nothing and remembers nothing."""
        with raising_hook():
            self.dice.choice(self.claimers).claim(self.queue.name, 3)

    def claim(self) -> None:
        slots = self.dice.randint(1, 6)
        expected = self._expected(slots)
        taken = [run.id for run in self.claimer_at_work().claim(self.queue.name, slots).runs]
        if taken != expected:
            self.differences.append(f"took {taken}, the ranking says {expected}")

    def claimer_at_work(self) -> Claimer:
        return self.dice.choice(self.claimers)

    def claim_behind_a_look(self) -> None:
        """What arrives between the question for work and the claim behind it is missed by no other."""
        claimer = self.dice.choice(self.claimers)
        claimer.queues_with_work([self.queue.name])
        self.dice.choice([self.enqueue, self.enqueue_openly, self.end_a_peer, self.requeue, self.hold])()
        claimer.claim(self.queue.name, self.dice.randint(1, 6))

    def _expected(self, slots: int) -> list[str]:
        running = WorkflowStatus.objects.filter(queue=self.queue.name, claim_seq__isnull=False)
        busy: dict[str, int] = {}
        used = dict.fromkeys(self.limits, 0)
        for group, key in running.values_list("group_key", "limit_key"):
            busy[group] = busy.get(group, 0) + 1
            if key in used:
                used[key] += 1
        rooms = Rooms(slots, keys={key: most - used[key] for key, most in self.limits.items()})
        return oracle.rank(self._candidates(), rooms, busy, self.queue.fair, self._held())

    def _candidates(self) -> list[Candidate]:
        rows = WorkflowStatus.objects.filter(queue=self.queue.name, line__isnull=False)
        columns = rows.values_list("id", "rank", "line", "partition_key", "limit_key")
        return [Candidate(*row) for row in columns]

    def _in_line(self) -> set[str]:
        return {row.id for row in self._candidates()}

    def _held(self) -> set[str]:
        return {workflow_id for _, held in self.peers for workflow_id in held}

    def _running(self, most: int) -> list[WorkflowStatus]:
        running = list(WorkflowStatus.objects.filter(queue=self.queue.name, status="PENDING").order_by("seq"))
        return self.dice.sample(running, min(len(running), self.dice.randint(1, most)))

    def _row(self) -> dict[str, Any]:
        return {
            **NOTHING,
            "ids": [str(UUID(int=self.dice.getrandbits(128), version=4))],
            "inputs": ["[]"],
            "queue": self.queue.name,
            "priority": self.dice.choice([0, 0, 0, 5]),
            "limit_key": self.dice.choice(KEYS),
            "partition_key": self.dice.choice(self.PARTITIONS),
        }

    def _peer(self) -> psycopg.Connection[Any]:
        return psycopg.connect(connection.connection.info.dsn, cursor_factory=psycopg.ClientCursor)

    def _execute(self, statement: str, params: dict[str, Any]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql.load(statement), params)


class PlainHistory(History):
    """Nothing reorders the line or holds it back: claims are one statement each, where they may be."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        Queue.objects.update(fair=False)
        Limit.objects.all().delete()
        self.queue.fair, self.limits = False, {}

    def claimer_at_work(self) -> Claimer:
        """It asked which queues have work, and knows that nobody woke."""
        claimer = super().claimer_at_work()
        claimer.queues_with_work([self.queue.name])
        return claimer

    def edit_limits(self) -> None:
        """The first limit of any key ends this kind of claim, and the last one that goes begins it again."""
        if self.limits or self.dice.random() < 0.8:
            self.limits = {}
        else:
            self.limits = {"a": self.dice.randint(1, 3)}
        Limit.objects.all().delete()
        Limit.objects.bulk_create(Limit(key=key, max_running=most) for key, most in self.limits.items())


NOTHING: dict[str, Any] = {
    **dict.fromkeys(("deduplication_id", "app_version", "partition_key", "limit_key", "schedule_name")),
    **dict.fromkeys(("run_at", "delay", "expires_at", "expires_in", "timeout", "deadline")),
    **dict.fromkeys(("parent", "parent_step")),
    "name": "w",
    "priority": 0,
    "max_attempts": 1,
    "serialization": "json",
    "attributes": "{}",
    "headers": "{}",
}


class Boom(Exception):
    pass


@contextmanager
def raising_hook() -> Iterator[None]:
    from django_durable.signals import transition

    def refuse(**_: object) -> None:
        raise Boom

    transition.connect(refuse)
    try:
        yield
    except Boom:
        pass
    finally:
        transition.disconnect(refuse)


def differences(seeds: range, length: int = 40, kind: type[History] = History) -> list[str]:
    found = []
    for seed in seeds:
        with override_settings(DURABLE=ALWAYS), pytest.MonkeyPatch.context() as sizes:
            history = kind(seed)
            read_in_small_parts(history.dice, sizes)
            try:
                history.run(length)
            finally:
                history.dismiss_peers()
        found += history.differences
        WorkflowStatus.objects.all().delete()
        Limit.objects.all().delete()
        if found:
            break
    return found


def read_in_small_parts(dice: random.Random, sizes: pytest.MonkeyPatch) -> None:
    """Make several windows, and a directory after some, happen in short lines too."""
    sizes.setattr(cursors, "LOOK_SERVES", 3600)
    sizes.setattr(planner, "FIRST_WINDOW", dice.choice([1, 2, 4]))
    sizes.setattr(positions, "FEWEST", dice.choice([1, 2]))
    sizes.setattr(positioned, "FEW_PLACES", dice.choice([0, 2, 500]))
    sizes.setattr(positioned, "PLACES_A_FLOOR", dice.choice([0, 1, 2]))
    sizes.setattr(positioned, "GROWTH", dice.choice([1, 2, 4]))
    sizes.setattr(positioned, "DEPTH", dice.choice([1, 4, 16]))


@pytest.mark.parametrize("kind", [History, PlainHistory])
def test_claims_behind_positions_take_what_ranking_the_whole_line_would_take(kind: type[History]) -> None:
    assert differences(range(120), kind=kind) == []


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("what peers hold is told", "FROM seen\nLEFT JOIN taken", "FROM seen\nJOIN taken"),
        ("a paused queue rests", "q.paused_at IS NULL", "true"),
        ("a limit of any key is a limit", "NOT EXISTS (SELECT FROM durable_limit)", "true"),
    ],
)
def test_plain_claims_die_without_a_rule(
    rule: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_sql("claim_behind", old, new)(monkeypatch)
    assert differences(range(120), kind=PlainHistory)


def test_positions_die_when_the_floor_follows_what_was_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    def follow(self: Positions, floor: Any, seen: Any, taken: Any) -> None:
        lines = [row.line for row in seen if row.id in taken]
        if lines and floor.rank in self._floors.get(floor.group, {}):
            self._set(floor.group, floor.rank, max(lines))

    monkeypatch.setattr(Positions, "rise", follow)
    assert differences(range(120))


def test_positions_die_when_the_tail_ignores_running_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = Snapshot.parse
    monkeypatch.setattr(Snapshot, "parse", lambda text: parse(text)._replace(running=()))
    assert differences(range(120))


def test_positions_die_when_a_group_that_gave_nothing_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    rise = Positions.rise

    def forget_blocked(self: Positions, floor: Any, seen: Any, taken: Any) -> None:
        if seen and not any(row.id in taken for row in seen):
            for rank in [*self._floors.get(floor.group, {})]:
                self._forget(floor.group, rank)
        else:
            rise(self, floor, seen, taken)

    monkeypatch.setattr(Positions, "rise", forget_blocked)
    assert differences(range(120))


def test_positions_die_when_a_failed_claim_lets_them_rise(monkeypatch: pytest.MonkeyPatch) -> None:
    from django_durable.claim.positioned import PositionedReader

    take = PositionedReader._take

    def take_and_rise(self: PositionedReader, *args: Any) -> dict[Floor, list[Candidate]]:
        rows = take(self, *args)
        for floor, seen in list(self._seen.items()):
            self.positions.rise(floor, seen, frozenset(row.id for row in seen))
        self._seen.clear()
        return rows

    monkeypatch.setattr(PositionedReader, "_take", take_and_rise)
    assert differences(range(120))


def test_positions_die_when_a_look_serves_more_than_one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cursors.Cursors._look_unless_just_done

    def look_once(self: cursors.Cursors, queue: str) -> None:
        if queue not in self._looked:
            right(self, queue)

    monkeypatch.setattr(cursors.Cursors, "_look_unless_just_done", look_once)
    assert differences(range(120))


def test_positions_die_when_a_requeue_keeps_its_old_stamp(monkeypatch: pytest.MonkeyPatch) -> None:
    def requeue(self: History) -> None:
        for run in self._running(2):
            with connection.cursor() as cursor:
                statement = sql.load("release").replace(
                    "enqueued_xid = pg_current_xact_id()", "enqueued_xid = '3'"
                )
                cursor.execute(statement, {"ids": [run.id], "tokens": [run.claim_token], "forgiven": 1})

    monkeypatch.setattr(History, "requeue", requeue)
    assert differences(range(120))


def test_positions_die_when_the_tail_starts_after_the_full_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = cursors.Cursors._walk_places

    def late_start(self: cursors.Cursors, queue: str) -> Any:
        found = walk(self, queue)
        with psycopg.connect(connection.connection.info.dsn, cursor_factory=psycopg.ClientCursor) as peer:
            peer.execute(
                sql.load("enqueue"), {**NOTHING, "ids": [str(uuid4())], "inputs": ["[]"], "queue": queue}
            )
        self.tail.stop(queue)
        self.tail.start(queue)
        return found

    monkeypatch.setattr(cursors.Cursors, "_walk_places", late_start)
    assert differences(range(120))


def test_positions_die_when_a_window_is_said_to_reach_past_floors_it_did_not_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    next_floors = Positions.next_floors

    def reach_the_end(self: Positions, *args: Any) -> tuple[list[Floor], Any]:
        return next_floors(self, *args)[0], END

    monkeypatch.setattr(Positions, "next_floors", reach_the_end)
    assert differences(range(120))


def test_positions_die_when_rows_passed_over_for_their_key_count_as_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(History, "PARTITIONS", ["p"])  # keys differ within a partition alone
    monkeypatch.setattr(positioned, "_shows_all", lambda group, keys: True)
    assert differences(range(120))
