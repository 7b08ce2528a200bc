"""Run what is ready on the test's own connection: the engine without a worker around it."""

from __future__ import annotations

from django.db.models import F

from django_durable.claim.claimer import Claimer
from django_durable.core.outcomes import Outcome
from django_durable.core.run import Run
from django_durable.core.states import Status
from django_durable.engine.recorder import DirectRecorder
from django_durable.engine.runner import Runner
from django_durable.models import Queue, WorkflowStatus, database
from tests.factories import ExecutorFactory

SLOTS = 10


class Drain:
    """One executor that claims and runs until nothing is ready, on this thread and its connection."""

    def __init__(self, using: str = "default") -> None:
        self.using = using
        self.executor = ExecutorFactory.create()
        self.claimer = Claimer(self.executor.id, using)
        self.runner = Runner(DirectRecorder(using), using)

    def __call__(self, *queues: str) -> list[Outcome]:
        """Run all that is ready, what becomes ready meanwhile too; the outcomes in order."""
        outcomes: list[Outcome] = []
        while runs := self.claim(*queues):
            outcomes += [self.run(run) for run in runs]
        return outcomes

    def claim(self, *queues: str, slots: int = SLOTS) -> list[Run]:
        """Claim what is ready, without running it."""
        names = queues or tuple(Queue.objects.using(self.using).values_list("name", flat=True))
        return [run for name in names for run in self.claimer.claim(name, slots).runs]

    def run(self, run: Run) -> Outcome:
        return self.runner.run(run)

    def hasten(self) -> None:
        """Let the time of every delayed run come, and put it in line."""
        delayed = WorkflowStatus.objects.using(self.using).filter(status=Status.DELAYED)
        delayed.update(delay_until=F("created_at"))
        database.fetch("promote", {"batch": 1000}, self.using)
