"""Which queues have work: who woke, what arrived, what stands in line; asked of all in one round trip."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django_durable.claim.cursors import Cursors
from django_durable.core.planning.budget import QueueLimits
from django_durable.models import database


class Answer(NamedTuple):
    """By queue.

    `wakes`: seconds until the first waiting run wakes, 0 or less where it is due, and until the next one that
    is not. `in_line`: the limits of those that were asked for their line and have one; `behind_positions`:
    those whose positions say that they may have rows, or are not known yet.
    """

    wakes: Mapping[str, tuple[float, float | None]]
    in_line: Mapping[str, QueueLimits]
    behind_positions: set[str]


def ask(queues: Sequence[str], ready: Mapping[str, Any], cursors: Cursors, using: str) -> Answer:
    """Positions, where they are kept, answer for a line: the tail of all is read instead."""
    warm = {queue for queue in queues if cursors.engages(queue)}
    cold = [queue for queue in queues if queue not in warm]
    tail = cursors.asked() if warm else []
    asked: list[database.Asked] = [("next_wakes", {"queues": list(queues), **ready}), *tail]
    if cold:
        asked.append(("waiting_queues", {"queues": cold, **ready}))
    started = time.monotonic()
    wakes, *answers = database.fetch_all(asked, using)
    lines = answers.pop() if cold else []
    for queue in cold:
        cursors.note_cold(queue, (time.monotonic() - started) / len(cold), "poll")
    known = cursors.look(answers) if warm else set()
    return Answer(
        wakes={queue: (seconds, later) for queue, seconds, later in wakes},
        in_line={queue: QueueLimits(*limits) for queue, *limits in lines},
        behind_positions={queue for queue in warm if queue in known or not cursors.knows(queue)},
    )
