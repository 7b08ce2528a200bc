"""What the sides of a race do: claims, verbs and writes, each one call."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django_durable.claim.claimer import Claimer
from django_durable.core.outcomes import Cancelled, Completed, Deferred, Failed, Outcome, Parked
from django_durable.core.run import Run
from django_durable.engine.execution.recorder import write_checkpoints, write_endings
from django_durable.engine.execution.writes import Checkpoint, Ending
from django_durable.engine.handle import Handle
from django_durable.models import Queue, StepOutput, WorkflowStatus, database
from tests.factories import ExecutorFactory
from tests.testapp.workflows import echo

USING = "default"
ANYBODY = {"version": None, "newest": True}
ENDINGS: dict[str, Outcome] = {
    "complete": Completed("1"),
    "fail": Failed("{}"),
    "cancel": Cancelled("{}"),
    "park": Parked("{}"),
    "defer": Deferred(60.0, failures=1),
}


def claim(queue: str = "default", slots: int = 10) -> list[Run]:
    """As another worker would, in a transaction of its own."""
    return Claimer(ExecutorFactory.create().id, USING).claim(queue, slots).runs


def claim_the_head(slots: int = 10) -> list[Run]:
    """The claim's one statement, so that the caller can hold its transaction open."""
    mine = {"executor": uuid4(), "token": uuid4(), **ANYBODY}
    runs: list[Run] = WorkflowStatus.objects.db_manager(USING).claim_head("default", slots, mine)
    return runs


def running(workflow_id: str = "w", queue: str = "default") -> Run:
    Queue.objects.get_or_create(name=queue)
    echo.using(id=workflow_id, queue=queue).enqueue()
    (run,) = claim(queue)
    return run


def end(run: Run, how: str) -> bool:
    return bool(write_endings([Ending(run.fence, ENDINGS[how])], USING))


def checkpoint(run: Run, step: int = 1) -> bool:
    row = Checkpoint(run.id, run.token, step, "step", "1", None, "json")
    return bool(write_checkpoints([row], USING))


def release(run: Run) -> bool:
    return bool(database.fetch("release", {"ids": [run.id], "tokens": [run.token], "forgiven": 1}, USING))


def owner(run: Run) -> UUID:
    executor: UUID = WorkflowStatus.objects.values_list("executor_id", flat=True).get(pk=run.id)
    return executor


def recover(executor: UUID) -> list[tuple[Any, ...]]:
    lost = {"executor": executor, "batch": 100, "max_claims": 101, "refused": []}
    return database.fetch("recover", lost, USING)


def cancel(workflow_id: str = "w") -> None:
    Handle(workflow_id).cancel(reason="not wanted")


def status(workflow_id: str = "w") -> str:
    return str(WorkflowStatus.objects.values_list("status", flat=True).get(pk=workflow_id))


def as_it_stands(workflow_id: str = "w") -> tuple[Any, ...]:
    """Every column of the run and of its checkpoints."""
    run = WorkflowStatus.objects.filter(pk=workflow_id).values().get()
    return run, *StepOutput.objects.filter(workflow_id=workflow_id).order_by("step").values()
