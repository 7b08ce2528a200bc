"""Workflow functions of the host project, found at start-up as any project's are."""

from __future__ import annotations

from typing import Any

from django_durable import step, workflow, workflow_id
from tests.testapp import lifecycle_workflows as lifecycle_workflows  # declared by being imported
from tests.testapp import matrix_workflows as matrix_workflows
from tests.testapp.models import Ledger, Probe


@step
def note(place: str) -> str:
    """An effect outside the transaction: at least once."""
    Probe.note(str(workflow_id()), place)
    return place


@step(atomic=True)
def book(place: str, amount: int = 1) -> int:
    """An effect inside the transaction: exactly once."""
    Ledger.objects.create(run_id=str(workflow_id()), step=place, amount=amount)
    return amount


@workflow(name="testapp.echo")
def echo(*args: Any, **kwargs: Any) -> Any:
    """The arguments as they arrived."""
    return [*args, kwargs] if kwargs else args[0] if len(args) == 1 else list(args)


@workflow(name="testapp.two_steps")
def two_steps() -> list[Any]:
    return [note("first"), book("second")]
