"""A whole queue at one moment, as rows of the tables, and what a claim of it has to take."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connections

from django_durable.claim.identity import Identity
from django_durable.core.planning.budget import limit_bucket, partition_bucket, queue_bucket
from django_durable.core.planning.candidates import Candidate
from django_durable.core.planning.limits import PartitionRoom, Rooms
from django_durable.core.states import Status
from django_durable.models import Limit, Queue
from tests import oracle

HERE, ELSEWHERE = "here", "elsewhere"
ME, PEER = UUID(int=1), UUID(int=2)
PERIOD = 60
INSIDE, OUTSIDE = (1, 30, 55), (65, 600)  # ages of starts, in seconds, either side of a period


@dataclass(frozen=True)
class Row:
    id: str
    seq: int
    status: Status = Status.ENQUEUED
    queue: str = HERE
    priority: int = 0
    partition: str | None = None
    key: str | None = None
    version: str | None = None
    expires_in: int | None = None
    executor: UUID | None = None
    holds_slot: bool = False

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.id, -self.priority, self.seq, self.partition, self.key)


@dataclass
class QueueWorld:
    """`limits` are columns of the queue's row, `keys` of the limit rows; `starts` are (bucket, age)."""

    rows: list[Row] = field(default_factory=list)
    limits: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    starts: list[tuple[str, int]] = field(default_factory=list)
    slots: int = 5
    paused: bool = False
    identity: Identity = field(default_factory=lambda: Identity(ME))

    @property
    def fair(self) -> bool:
        return bool(self.limits.get("fair"))

    def load(self) -> None:
        """Write it into empty tables."""
        self.load_limits()
        self.load_line()

    def load_limits(self) -> None:
        Queue.objects.bulk_create([Queue(name=HERE, **_columns(self.limits)), Queue(name=ELSEWHERE)])
        if self.paused:
            Queue.objects.filter(name=HERE).pause()
        Limit.objects.bulk_create([Limit(key=key, **_columns(limit)) for key, limit in self.keys.items()])

    def load_line(self) -> None:
        load_rows(self.rows)
        with connections["default"].cursor() as cursor:
            cursor.execute(
                LOAD_STARTS, [[bucket for bucket, _ in self.starts], [age for _, age in self.starts]]
            )

    def ready(self, rows: Iterable[Row] | None = None) -> list[Row]:
        """Those that this process may start, of all rows or of these."""
        return [row for row in (self.rows if rows is None else rows) if self._is_ready(row)]

    def expected(self, held: Iterable[str] = (), gone: Iterable[str] = ()) -> list[str]:
        """The ids that a claim takes, in order."""
        if self.paused:
            return []
        out = set(gone)
        candidates = [row.candidate for row in self.ready() if row.id not in out]
        return oracle.rank(candidates, self.rooms(), self.busy(), self.fair, set(held))

    def expected_starts(self, taken: Iterable[Row]) -> Counter[str]:
        """The starts counted once these rows are taken, by bucket."""
        starts = Counter(bucket for bucket, _ in self.starts)
        for row in taken:
            if "rate_limit" in self.limits:
                starts[queue_bucket(HERE)] += 1
            if "partition_rate_limit" in self.limits:
                starts[partition_bucket(HERE, row.partition)] += 1
            if row.key is not None and "max_starts" in self.keys.get(row.key, {}):
                starts[limit_bucket(row.key)] += 1
        return starts

    def rooms(self) -> Rooms:
        running = [row for row in self.rows if row.holds_slot and row.queue == HERE]
        mine = [row for row in running if row.executor == self.identity.executor]
        return Rooms(
            slots=_least(self.slots, _left(self.limits, "worker_concurrency", len(mine))) or 0,
            queue=_least(
                _left(self.limits, "concurrency", len(running)),
                _left(self.limits, "rate_limit", self._recent(queue_bucket(HERE))),
            ),
            keys={key: self._key_room(key) for key in self.keys},
            partition=self._partition_room([], []) if self._limits_partitions else None,
            partitions={
                name: self._partition_room(
                    [row for row in running if row.partition == name],
                    [row for row in mine if row.partition == name],
                    self._recent(partition_bucket(HERE, name)),
                )
                for name in {row.partition for row in self.rows}
                if self._limits_partitions
            },
        )

    def busy(self) -> dict[str, int]:
        return Counter(row.candidate.group for row in self.rows if row.holds_slot and row.queue == HERE)

    @property
    def _limits_partitions(self) -> bool:
        return any(name.startswith("partition_") for name in self.limits)

    def _is_ready(self, row: Row) -> bool:
        version, newest = self.identity.version, self.identity.is_newest
        return (
            row.status == Status.ENQUEUED
            and row.queue == HERE
            and (row.expires_in is None or row.expires_in > 0)
            and (version is None or row.version == version or (row.version is None and newest))
        )

    def _partition_room(self, running: list[Row], mine: list[Row], starts: int = 0) -> PartitionRoom:
        return PartitionRoom(
            fleet=_least(
                _left(self.limits, "partition_concurrency", len(running)),
                _left(self.limits, "partition_rate_limit", starts),
            ),
            worker=_left(self.limits, "partition_worker_concurrency", len(mine)),
        )

    def _key_room(self, key: str) -> int:
        running = sum(1 for row in self.rows if row.holds_slot and row.key == key)
        room = _least(
            _left(self.keys[key], "max_running", running),
            _left(self.keys[key], "max_starts", self._recent(limit_bucket(key))),
        )
        assert room is not None, f"the limit of {key} limits nothing"
        return room

    def _recent(self, bucket: str) -> int:
        return sum(1 for name, age in self.starts if name == bucket and age < PERIOD)


def load_rows(rows: Iterable[Row]) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute(LOAD_ROWS, [json.dumps([asdict(row) for row in rows], default=str)])


def random_world(seed: int) -> QueueWorld:
    """The queue of a seed; in a hundred of them every limit is at work somewhere."""
    rng = random.Random(seed)
    names = "abcdefgh"[: rng.choice([1, 2, 3, 5, 8])]
    version = rng.choice([None, None, None, "v1"])
    world = QueueWorld(
        limits=random_limits(rng),
        keys=random_keys(rng, names),
        slots=rng.randint(1, 8),
        paused=rng.random() < 0.06,
        identity=Identity(ME, version, version is None or rng.random() < 0.5),
    )
    world.rows = [*random_line(rng, names, versioned=version is not None), *random_running(rng, names)]
    rng.shuffle(world.rows)
    world.starts = random_starts(rng, names)
    return world


def random_limits(rng: random.Random) -> dict[str, Any]:
    limits: dict[str, Any] = {"fair": rng.random() < 0.55}
    if rng.random() < 0.35:
        return limits
    most = rng.choice([3, 8])
    for name in (
        "concurrency",
        "worker_concurrency",
        "partition_concurrency",
        "partition_worker_concurrency",
    ):
        if rng.random() < 0.3:
            limits[name] = rng.randint(1, 3 if name.startswith("partition") else most)
    for name in ("rate", "partition_rate"):
        if rng.random() < 0.2:
            limits |= {f"{name}_limit": rng.randint(1, most), f"{name}_period": PERIOD}
    return limits


def random_keys(rng: random.Random, names: str) -> dict[str, dict[str, Any]]:
    share = rng.choice([0, 0.3, 0.7, 1])
    keys: dict[str, dict[str, Any]] = {}
    for name in names:
        if rng.random() < share:
            running, starts = (
                {"max_running": rng.randint(1, 4)},
                {"max_starts": rng.randint(1, 4), "window": PERIOD},
            )
            keys[name] = rng.choice([running, running, starts, {**running, **starts}])
    return keys


def random_line(rng: random.Random, names: str, *, versioned: bool) -> list[Row]:
    size = rng.choice([0, 3, 10, 25, 40, 60])
    priorities = rng.choice([[0], [0], [0, 0, 0, 1], [-3, 0, 5]])
    with_partition, with_key = rng.choice([(0, 1), (0, 0.8), (1, 0), (0.7, 0), (1, 1), (0.7, 0.7)])
    in_blocks = rng.random() < 0.3
    rows = []
    for seq in rng.sample(range(1, size * 3 + 1), size):
        near = names[(seq - 1) * len(names) // (size * 3)] if in_blocks else rng.choice(names)
        partition = near if rng.random() < with_partition else None
        row = Row(
            id=f"w{seq}",
            seq=seq,
            priority=rng.choice(priorities),
            partition=partition,
            key=(near if partition is None else rng.choice(names)) if rng.random() < with_key else None,
            version=rng.choice([None, "v1", "v2"]) if versioned else None,
        )
        rows.append(_sometimes_unready(rng, row))
    return rows


def random_running(rng: random.Random, names: str) -> list[Row]:
    """Runs in flight here and elsewhere, some that wait and keep their slot or do not, some that ended."""
    rows = []
    for number in range(rng.choice([0, 0, 3, 10])):
        status = rng.choice([Status.PENDING, Status.PENDING, Status.WAITING, Status.SUCCESS])
        row = Row(
            id=f"r{number}",
            seq=1000 + number,
            status=status,
            queue=rng.choice([HERE, HERE, ELSEWHERE]),
            partition=rng.choice([*names, None]),
            key=rng.choice([*names, None]),
            executor=rng.choice([ME, PEER]) if status == Status.PENDING else None,
            holds_slot=status == Status.PENDING or (status == Status.WAITING and rng.random() < 0.5),
        )
        rows.append(row)
    return rows


def random_starts(rng: random.Random, names: str) -> list[tuple[str, int]]:
    buckets = [queue_bucket(HERE), partition_bucket(HERE, None)]
    buckets += [partition_bucket(HERE, name) for name in names] + [limit_bucket(name) for name in names]
    return [(rng.choice(buckets), rng.choice(INSIDE + OUTSIDE)) for _ in range(rng.choice([0, 5, 15]))]


def _sometimes_unready(rng: random.Random, row: Row) -> Row:
    if rng.random() < 0.08:
        return replace(row, expires_in=rng.choice([-10, 1000]))
    return replace(row, queue=ELSEWHERE) if rng.random() < 0.08 else row


def _columns(limits: dict[str, Any]) -> dict[str, Any]:
    """Lengths of time are kept as seconds here."""
    lengths = ("period", "window")
    return {
        name: timedelta(seconds=value) if name.endswith(lengths) else value for name, value in limits.items()
    }


def _left(limits: dict[str, Any], name: str, used: int) -> int | None:
    return limits[name] - used if name in limits else None


def _least(*rooms: int | None) -> int | None:
    return min((room for room in rooms if room is not None), default=None)


LOAD_ROWS = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival, partition_key, limit_key,
    app_version, claim_token, executor_id, claim_seq, started_at, completed_at, wake_at, expires_at, timeout,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    id, 'testapp.echo', status, queue, priority, seq, line, line,
    CASE WHEN line > 0 THEN pg_current_xact_id() END,
    CASE WHEN line > 0 THEN nextval('durable_arrival_seq') END,
    partition, key, version, CASE WHEN status = 'PENDING' THEN gen_random_uuid() END, executor,
    CASE WHEN holds_slot THEN nextval('durable_claim_seq') END, CASE WHEN holds_slot THEN now() END,
    CASE WHEN status = 'SUCCESS' THEN now() END,
    CASE WHEN status = 'WAITING' THEN now() + interval '1 hour' END,
    now() + expires_in * interval '1 second', interval '1 hour',
    0, 1, CASE WHEN status = 'ENQUEUED' THEN 0 ELSE 1 END, now(), now(), '[[], {}]', 'json', '{}', '{}', false
FROM (
    SELECT *, CASE WHEN status = 'ENQUEUED' THEN seq END AS line
    FROM jsonb_to_recordset(%s::jsonb) AS given (
        id text, status text, queue text, priority int, seq bigint, partition text, key text, version text,
        expires_in int, executor uuid, holds_slot bool
    )
) AS given
"""
LOAD_STARTS = """
INSERT INTO durable_rate_start (bucket, started_at)
SELECT bucket, clock_timestamp() - age * interval '1 second'
FROM unnest(%s::text[], %s::int[]) AS given (bucket, age)
"""
