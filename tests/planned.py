"""What is asked of each statement on a big table: the parameters to explain it with, what it may touch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django_durable.core.states import sources

QUEUE = "default"
ME = UUID(int=1)
TOKEN = UUID(int=7)
FEW = 100  # buffers


class Wanted(NamedTuple):
    """The parameters of a statement, and the most buffers it may touch.

    `walks_graves`: it reads from the head, which a graveyard may fill. `sorts`: the few rows an index found.
    `inserts`: an index serves it at most to find conflicts.
    `instead`: where few rows have the status it asks for, the planner may take this index for its own.
    """

    params: dict[str, Any]
    buffers: int = FEW
    walks_graves: bool = False
    sorts: bool = False
    inserts: bool = False
    instead: tuple[str, ...] = ()


IDS = [f"live{number:08}" for number in range(20)]
COPIES = [f"copy{number}" for number in range(20)]
TOKENS = [TOKEN] * len(IDS)
NOW = datetime.now(UTC)
GIVEN_UP = {"id": IDS[0], "token": TOKEN, "step": 1, "name": "durable.given_up"}
READY = {"version": None, "newest": True}
MINE = {"queue": QUEUE, "executor": ME, "token": TOKEN, **READY}
OUT = {"keys": "full", "partitions": ["p1"], "key_groups": ["k1"]}
COUNTED = {"queue": QUEUE, "executor": ME, "oldest": "oldest"}
START = {"rank": -(1 << 30), "line": 0}
FLOORS = {"groups": ["k:k1", "k:k2"], "ranks": [0, 0], "lines": ["floor", "floor"], "limits": [20, 20]}
ENDED = {
    "ids": IDS,
    "tokens": TOKENS,
    "statuses": ["SUCCESS"] * len(IDS),
    "outputs": ["1"] * len(IDS),
    "errors": [None] * len(IDS),
    "steps": [1] * len(IDS),
    "wakes_waiters": False,
}
CHECKPOINTS = {
    "ids": IDS,
    "tokens": TOKENS,
    "steps": [1] * len(IDS),
    "names": ["step"] * len(IDS),
    "outputs": ["1"] * len(IDS),
    "errors": [None] * len(IDS),
    "serializations": ["json"] * len(IDS),
    "children": [None] * len(IDS),
    "attempts": [1] * len(IDS),
    "seconds": [0.1] * len(IDS),
}
ENQUEUED: dict[str, Any] = {
    **dict.fromkeys(("deduplication_id", "app_version", "partition_key", "limit_key", "schedule_name")),
    **dict.fromkeys(("run_at", "delay", "expires_at", "expires_in", "timeout", "deadline")),
    **dict.fromkeys(("parent", "parent_step")),
    "ids": COPIES,
    "inputs": ["[]"] * len(COPIES),
    "name": "w",
    "queue": QUEUE,
    "priority": 0,
    "max_attempts": 1,
    "serialization": "json",
    "attributes": "{}",
    "headers": "{}",
}
VALUE = {"value": "1", "serialization": "json"}

CLAIM = {
    "read_window": Wanted({"queue": QUEUE, **READY, **START, "size": 80}, walks_graves=True),
    "read_past": Wanted(
        {"queue": QUEUE, **READY, **START, "size": 160, "stretch": 500, **OUT}, walks_graves=True
    ),
    "walk_groups": Wanted(
        {"queue": QUEUE, **READY, "after": None, "groups": 128, "shut": ""}, 700, walks_graves=True
    ),
    "read_groups": Wanted({"queue": QUEUE, **READY, **FLOORS, "keys": "full"}),
    "claim_head": Wanted({"slots": 20, **MINE}, 700, walks_graves=True),
    "claim_behind": Wanted({**MINE, "rank": 0, "line": "floor", "most": 40, "slots": 20}, 700, sorts=True),
    "stray_runs": Wanted({"executor": ME, "known": [TOKEN]}, 700, walks_graves=True),
    "claim_woken": Wanted({"slots": 20, **MINE}, sorts=True),
    "mark_claimed": Wanted({"ids": IDS, **MINE}, 900),
    "lock_planned": Wanted({"ids": IDS, **MINE}, 200),
    "still_in_line": Wanted({"ids": IDS, **MINE}),
    "in_flight": Wanted(COUNTED, 50, sorts=True),
    "count_in_flight": Wanted(COUNTED, 50),
    "partitions_in_flight": Wanted({**COUNTED, "partitions": ["p1", ""]}, 50, sorts=True),
    "full_partitions": Wanted({**COUNTED, "of_fleet": 1, "of_worker": None}, 50, sorts=True),
    "full_keys": Wanted(
        {"most": 2000, "keys": "k1\x1fk2", "oldest": "oldest\x1foldest"}, 4000, sorts=True, walks_graves=True
    ),
    "limit_rooms": Wanted({"keys": "k1\x1fk2", "oldest": "oldest\x1foldest"}, 50),
    "count_starts": Wanted({"buckets": ["limit\x1fk1"], "period": timedelta(seconds=60)}, 50),
    "next_room": Wanted(
        {"buckets": ["limit\x1fk1"], "starts": [5], "seconds": [60.0], "keys": "k1\x1fk2", "ago": 0.0},
        50,
        sorts=True,
    ),
    "record_starts": Wanted({"buckets": ["limit\x1fk1"] * 20}, 300, inserts=True),
    "read_behind": Wanted({"queue": QUEUE, **READY, "keys": [], **FLOORS}),
    "read_floors": Wanted({"queue": QUEUE, **READY, "keys": [], **FLOORS}),
    "read_tail": Wanted({"xmax": "xmax", "running": ["0"], "most": 1000}, sorts=True),
    "read_arrivals": Wanted({"floor": "arrival"}, sorts=True),
    "walk_places": Wanted({"queue": QUEUE, "most": 100}, 700, walks_graves=True),
    "walk_ranks": Wanted({"queue": QUEUE}, walks_graves=True),
    "next_wakes": Wanted({"queues": [QUEUE, "other"], **READY}),
}
LINE = {
    "waiting_queues": Wanted({"queues": [QUEUE, "other"], **READY}, walks_graves=True),
    "enqueue": Wanted(ENQUEUED, 900, inserts=True, sorts=True),
    "promote": Wanted({"batch": 100, "refused": []}, 500, sorts=True),
    "next_due": Wanted({}, 50),
    "begin_bouncing": Wanted({"id": IDS[0], "max_wait": timedelta(1)}, 50),
    "bounce": Wanted(
        {
            "period": timedelta(1),
            "input": "{}",
            "serialization": "json",
            "queue": QUEUE,
            "deduplication_ids": ["d", "e"],
            "name": "w",
        },
        50,
    ),
    "postpone": Wanted(
        {"ids": IDS, "delay": timedelta(1), "run_at": None, "sources": sources("postpone")}, 900, sorts=True
    ),
}
EXECUTION = {
    "settle": Wanted(ENDED, 900, sorts=True),
    "settle_free": Wanted(ENDED, 900, sorts=True),
    "record_steps": Wanted(CHECKPOINTS, 900, sorts=True),
    "record_free_steps": Wanted(CHECKPOINTS, 900, sorts=True),
    "record_attempts": Wanted(
        {"id": IDS[0], "token": TOKEN, "step": 1, "name": "durable.retries", "output": "{}", "attempts": 1}
    ),
    "give_up": Wanted({**GIVEN_UP, "output": "{}", "error": "late", "seconds": 1.0}, 200),
    "forget_given_up": Wanted(GIVEN_UP),
    "own_run": Wanted({"id": IDS[0], "token": TOKEN}, 20),
    "hold_own_run": Wanted({"id": IDS[0], "token": TOKEN}, 20),
    "hold_free_runs": Wanted({"ids": IDS}, 200, sorts=True),
    "read_tokens": Wanted({"ids": IDS}),
    "read_step": Wanted({"id": "ended7", "step": 1}, 20),
    "read_steps": Wanted({"id": "ended7"}, 20, sorts=True),
    "defer": Wanted(
        {
            "id": IDS[0],
            "token": TOKEN,
            "delay": timedelta(1),
            "keeps_place": True,
            "failures": 1,
            "forgiven": 0,
            "error": None,
        }
    ),
    "release": Wanted({"ids": IDS, "tokens": TOKENS, "forgiven": 1}, 900, sorts=True),
    "uncount_starts": Wanted({"ids": IDS, "tokens": TOKENS}, 900, sorts=True),
}
WAITS = {
    "end_sleep": Wanted({"id": IDS[0], "token": TOKEN, "step": 1, "until": 1.0}),
    "suspend": Wanted(
        {
            "ids": IDS,
            "tokens": TOKENS,
            "wakes": [NOW] * len(IDS),
            "topics": [None] * len(IDS),
            "several": [None] * len(IDS),
        },
        900,
        sorts=True,
    ),
    "await_runs": Wanted({"runs": IDS}, 900, sorts=True),
    "wait_is_over": Wanted(
        {"id": "ended7", "mailboxes": ["t"], "publishers": ["ended7"], "keys": ["key"], "runs": IDS}, 200
    ),
    "wake_for_message": Wanted({"id": IDS[0], "topic": "t"}, 50),
    "wake_for_runs": Wanted({"ids": IDS}, 400, sorts=True),
    "wake_for_topic": Wanted({"topic": "event other7 key"}, sorts=True),
    "wake_into_line": Wanted({"batch": 100, "refused": []}, 500, sorts=True),
}
MAILBOX = {
    "send_message": Wanted(
        {"workflow": IDS[0], "topic": "t", "payload": "1", "serialization": "json", "idempotency_key": None},
        inserts=True,
    ),
    "set_event": Wanted({"workflow": IDS[0], "key": "key", "step": 1, **VALUE}, inserts=True),
    "append_to_stream": Wanted({"workflow": "ended7", "key": "log", "step": 9, **VALUE, "closes": False}),
    "read_stream": Wanted({"workflow": IDS[0], "key": "log", "position": 0, "batch": 100}, 50, sorts=True),
    "take_message": Wanted({"id": IDS[0], "token": TOKEN, "topic": "t", "step": 5, "name": "durable.recv"}),
    "hold_publisher": Wanted({"workflow": IDS[0]}, 20),
    "hold_receivers": Wanted({"ids": IDS}, 200, sorts=True),
}
CONTROL = {
    "active_descendants": Wanted({"ids": IDS}, 200),
    "cancel": Wanted({"ids": IDS, "error": "{}", "sources": sources("cancel")}, 900, sorts=True),
    "requeue": Wanted(
        {
            "ids": IDS,
            "queue": None,
            "drops_failure": True,
            "of_parents": True,
            "sources": sources("retry"),
        },
        900,
        sorts=True,
    ),
    "cut_history": Wanted(
        {"ids": IDS, "steps": [2] * len(IDS), "failed_ids": [], "failed_steps": []},
        600,
        sorts=True,
        instead=("durable_children",),
    ),
    "fork": Wanted({"ids": IDS, "copies": COPIES, "app_version": None, "step": 3}, 2000, sorts=True),
    "hold_ended": Wanted({"ids": IDS, "sources": sources("delete")}, 200, sorts=True),
    "delete_runs": Wanted({"ids": IDS}, 900),
    "edit_runs": Wanted(
        {"ids": IDS, "priority": 3, "attributes": None, "sources": sources("reprioritise")}, 900, sorts=True
    ),
}
MAINTENANCE = {
    "time_out": Wanted({"batch": 100, "error": "late", "refused": []}, 400),
    "expire": Wanted({"batch": 100, "error": "late", "refused": []}, 400),
    "orphaned_executors": Wanted({}, 1000, walks_graves=True),
    "forget_executor": Wanted({"executor": ME}, 50),
    "recover": Wanted({"executor": ME, "batch": 100, "max_claims": 5, "refused": []}, 400, sorts=True),
    "hold_outdated": Wanted({"status": "SUCCESS", "after": None, "age": timedelta(30), "batch": 100}, 500),
    "prune_starts": Wanted({"after": "", "buckets": 100, "batch": 100}, 1500),
}
EXPECTED = {**CLAIM, **LINE, **EXECUTION, **WAITS, **MAILBOX, **CONTROL, **MAINTENANCE}
NOT_EXPLAINED = {
    "arrival_floor": "asks the catalogue",
    **dict.fromkeys(("shift_runs", "shift_starts", "shift_steps"), "in tests, time passes for all rows"),
    "limits_in_use": "a look that counts all that stands in line",
}
