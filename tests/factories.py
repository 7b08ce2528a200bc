"""Rows that a test needs but does not want to describe."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import connections
from factory.declarations import LazyFunction, SelfAttribute, Sequence, SubFactory, Trait
from factory.django import DjangoModelFactory

from django_durable.core.states import ACTIVE, Status
from django_durable.models import Executor, Limit, Queue, StepOutput, WorkflowStatus
from django_durable.models.database import Clock

LEASE = timedelta(seconds=30)


class QueueFactory(DjangoModelFactory[Queue]):
    class Meta:
        model = Queue

    name = Sequence(lambda n: f"queue-{n}")


class LimitFactory(DjangoModelFactory[Limit]):
    class Meta:
        model = Limit

    key = Sequence(lambda n: f"limit-{n}")
    max_running = 1


class ExecutorFactory(DjangoModelFactory[Executor]):
    """A worker that lives; `lost=True`: one whose lease ran out a minute ago."""

    class Meta:
        model = Executor

    class Params:
        lost = Trait(lease_expires_at=Clock() - timedelta(minutes=1))

    id = LazyFunction(uuid4)
    hostname = "host"
    pid = Sequence(lambda n: n)
    started_at = Clock()
    heartbeat_at = Clock()
    lease_expires_at = Clock() + LEASE


class WorkflowFactory(DjangoModelFactory[WorkflowStatus]):
    """A run in any status, with the marks that its status demands; enqueue it instead where that will do."""

    class Meta:
        model = WorkflowStatus

    id = Sequence(lambda n: f"workflow-{n}")
    name = "testapp.echo"
    status = Status.SUCCESS
    queue = "default"
    input = '{"args": [], "kwargs": {}}'
    created_at = LazyFunction(lambda: datetime.now(UTC))
    updated_at = SelfAttribute("created_at")

    @classmethod
    def _create(cls, model_class: type[WorkflowStatus], *args: Any, **kwargs: Any) -> WorkflowStatus:
        row: WorkflowStatus = super()._create(
            model_class, *args, **{**_marks(Status(kwargs["status"])), **kwargs}
        )
        return row


class StepFactory(DjangoModelFactory[StepOutput]):
    class Meta:
        model = StepOutput

    workflow = SubFactory(WorkflowFactory)
    step = Sequence(lambda n: n + 1)
    name = "step"
    output = "null"
    started_at = Clock()
    completed_at = Clock()


def _marks(status: Status) -> dict[str, Any]:
    """What the CHECK constraints ask of a row in this status."""
    if status == Status.ENQUEUED:
        place = _next("durable_line_seq")
        arrival = _next("durable_arrival_seq")
        return {"seq": place, "line": place, "group_line": place, "enqueued_xid": 1, "arrival": arrival}
    if status == Status.PENDING:
        return {
            "claim_token": uuid4(),
            "executor_id": uuid4(),
            "claim_seq": _next("durable_claim_seq"),
            "claims": 1,
            "started_at": Clock(),
        }
    if status == Status.DELAYED:
        return {"delay_until": Clock() + timedelta(hours=1)}
    if status == Status.WAITING:
        return {"wake_at": Clock() + timedelta(hours=1), "claim_seq": _next("durable_claim_seq")}
    return {} if status in ACTIVE else {"completed_at": Clock()}


def _next(sequence: str) -> int:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT nextval(%s)", [sequence])
        return int(cursor.fetchone()[0])
