"""The life of a workflow as data: every status, and every verb that moves between them.

The CHECK constraint, the guards in SQL, the diagram in the docs and the tests of every verb in every status
all read `TRANSITIONS`.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    DELAYED = "DELAYED"
    ENQUEUED = "ENQUEUED"
    PENDING = "PENDING"
    WAITING = "WAITING"
    SUCCESS = "SUCCESS"
    ERROR = "ERROR"
    CANCELLED = "CANCELLED"
    MAX_RECOVERY_ATTEMPTS_EXCEEDED = "MAX_RECOVERY_ATTEMPTS_EXCEEDED"


LABELS = {
    Status.DELAYED: "Delayed",
    Status.ENQUEUED: "Queued",
    Status.PENDING: "Running",
    Status.WAITING: "Waiting",
    Status.SUCCESS: "Succeeded",
    Status.ERROR: "Failed",
    Status.CANCELLED: "Cancelled",
    Status.MAX_RECOVERY_ATTEMPTS_EXCEEDED: "Parked",
}

PARKED = Status.MAX_RECOVERY_ATTEMPTS_EXCEEDED
ACTIVE = frozenset({Status.DELAYED, Status.ENQUEUED, Status.PENDING, Status.WAITING})
FINAL = frozenset(Status) - ACTIVE
BEGUN = frozenset({Status.PENDING, Status.WAITING})

# verb: (statuses it may start from, status it ends in)
TRANSITIONS: dict[str, tuple[frozenset[Status], Status]] = {
    "promote": (frozenset({Status.DELAYED}), Status.ENQUEUED),
    "claim": (frozenset({Status.ENQUEUED, Status.WAITING}), Status.PENDING),
    "release": (frozenset({Status.PENDING}), Status.ENQUEUED),
    "recover": (frozenset({Status.PENDING}), Status.ENQUEUED),
    "defer": (frozenset({Status.PENDING}), Status.DELAYED),
    "suspend": (frozenset({Status.PENDING}), Status.WAITING),
    "wake": (frozenset({Status.WAITING}), Status.ENQUEUED),
    "complete": (frozenset({Status.PENDING}), Status.SUCCESS),
    "fail": (frozenset({Status.PENDING}), Status.ERROR),
    "park": (frozenset({Status.PENDING}), PARKED),
    "expire": (frozenset({Status.DELAYED, Status.ENQUEUED}), Status.CANCELLED),
    "time_out": (ACTIVE, Status.CANCELLED),
    "cancel": (ACTIVE | {PARKED}, Status.CANCELLED),
    "resume": (frozenset({Status.CANCELLED, PARKED, Status.ENQUEUED}), Status.ENQUEUED),
    "retry": (frozenset({Status.ERROR}), Status.ENQUEUED),
    "rewind": (FINAL, Status.ENQUEUED),
    "postpone": (frozenset({Status.DELAYED, Status.ENQUEUED}), Status.DELAYED),
}

# verb: statuses in which it may be said; it changes no status
IN_PLACE: dict[str, frozenset[Status]] = {
    "delete": FINAL,
    "reprioritise": ACTIVE,
    "annotate": frozenset(Status),
}


def sources(verb: str) -> list[str]:
    """The statuses `verb` may start from, as a sorted list for a SQL parameter."""
    return sorted(IN_PLACE[verb] if verb in IN_PLACE else TRANSITIONS[verb][0])


def allows(verb: str, status: str) -> bool:
    return status in sources(verb)
