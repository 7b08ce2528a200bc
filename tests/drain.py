"""Run what is ready on the test's own connection: the engine without a worker around it."""

from __future__ import annotations

from typing import Any

from django.db.models import F

from django_durable.claim.claimer import Claimer
from django_durable.core.outcomes import Outcome
from django_durable.core.run import Run
from django_durable.core.states import Status
from django_durable.engine.execution.recorder import DirectRecorder
from django_durable.engine.execution.runner import Runner
from django_durable.engine.execution.writes import Ended, Ending
from django_durable.engine.handle import Handle
from django_durable.exceptions import ControlFlow
from django_durable.models import Executor, Queue, WorkflowStatus, database
from tests.factories import ExecutorFactory

SLOTS = 10
BATCH = 1000
MAX_CLAIMS = 101


def row(run: Handle) -> Any:
    """The row of a run as it is now; Any, as a test knows which of its columns are filled."""
    return run.record


class Death(ControlFlow):
    """Raised by a body where its worker shall die: nothing is written after it."""


class Mortal(DirectRecorder):
    """Records for a worker that dies before it can write how the run ended."""

    def end(self, ending: Ending, then: Ended) -> None:
        then(False)


class Drain:
    """One executor that claims and runs until nothing is ready, on this thread and its connection."""

    def __init__(self, using: str = "default") -> None:
        self.using = using
        self.executor: Executor = ExecutorFactory.create()
        self.claimer = Claimer(self.executor.id, using)

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
        return Runner(DirectRecorder(self.using), self.using).run(run)

    def run_until_death(self, run: Run) -> None:
        """Run it as far as it gets; then the worker is gone, and the row still says that it runs."""
        Runner(Mortal(self.using), self.using).run(run)

    def recover(self) -> None:
        """Take the executor for lost: what it had goes back in line."""
        lost = {"executor": self.executor.id, "batch": BATCH, "max_claims": MAX_CLAIMS, "refused": []}
        database.fetch("recover", lost, self.using)

    def hasten(self) -> None:
        """Let the time of every delayed run come, and put it in line."""
        delayed = WorkflowStatus.objects.using(self.using).filter(status=Status.DELAYED)
        delayed.update(delay_until=F("created_at"))
        database.fetch("promote", {"batch": BATCH, "refused": []}, self.using)


class DieOnce:
    """Called in a body, it lets the worker die there, the first time only."""

    def __init__(self, drain: Drain) -> None:
        self.drain = drain
        self.alive = True

    def __call__(self) -> None:
        if self.alive:
            self.alive = False
            raise Death

    def then_run(self, handle: Handle) -> Handle:
        """Run until the death, let the run be recovered, and run it to its end."""
        (run,) = self.drain.claim()
        self.drain.run_until_death(run)
        assert handle.status == Status.PENDING
        self.drain.recover()
        self.drain()
        return handle
