"""The maintenance that every worker does now and then, one pass a time."""

from __future__ import annotations

import random
from collections.abc import Callable

from django_durable.conf import HEARTBEATS_PER_LEASE
from django_durable.instrument import Span, report
from django_durable.maintenance.pruner import Pruner
from django_durable.maintenance.recovery import Recovery
from django_durable.worker.service import Duty

PRUNE_INTERVAL = 60.0


class RecoverLost(Duty):
    """Recovers what lost executors ran, several times a lease."""

    name = "recovery"

    def __init__(self, using: str, lease: float) -> None:
        self.interval = lease / HEARTBEATS_PER_LEASE
        self.recovery = Recovery(using, lease)
        self.on_work: Callable[[], None] = lambda: None

    def tick(self) -> float:
        done = self.recovery.run_once()
        if done.executors or done.runs:
            names = [str(executor) for executor in done.executors]
            report(Span("recovery", {"executors": names, "returned": done.returned, "parked": done.parked}))
        if done.returned:
            self.on_work()
        return 0.0 if done.is_cut_short else self.interval * random.uniform(0.9, 1.1)


class Prune(Duty):
    """Deletes what is kept long enough."""

    name = "pruner"

    def __init__(self, pruner: Pruner) -> None:
        self.pruner = pruner

    def tick(self) -> float:
        done = self.pruner.run_once()
        if done.total:
            report(Span("prune", {"runs": dict(done.runs), "starts": done.starts}))
        return 0.0 if done.is_cut_short else PRUNE_INTERVAL * random.uniform(0.9, 1.1)
