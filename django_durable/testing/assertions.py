"""Say what must have been enqueued."""

from __future__ import annotations

from typing import Any, NamedTuple

from django_durable.core.states import Status
from django_durable.engine import payloads
from django_durable.engine.declared import workflows
from django_durable.exceptions import UnknownWorkflow
from django_durable.models import WorkflowStatus, database

NOT_BEGUN = (Status.DELAYED, Status.ENQUEUED)


class Enqueued(NamedTuple):
    """A run that has not begun, and its arguments."""

    id: str
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def enqueued(workflow: Any = None, *, queue: str | None = None) -> list[Enqueued]:
    """What has not begun, in the order of its enqueue; of one workflow function (or its name), if given."""
    rows = WorkflowStatus.objects.using(database.alias()).filter(status__in=NOT_BEGUN)
    if workflow is not None:
        rows = rows.filter(name=_name(workflow))
    if queue is not None:
        rows = rows.filter(queue=queue)
    rows = rows.order_by("created_at", "seq", "id")
    return [Enqueued(row.id, row.name, *payloads.decode_call(row.input, row.serialization)) for row in rows]


def assert_enqueued(workflow: Any, *args: Any, **kwargs: Any) -> Enqueued:
    """A run with just these arguments has been enqueued and has not begun; returns the first such.

    By position, by name or by default is the same, where the function is known here.
    """
    found = enqueued(workflow)
    wanted = _call(workflow, args, kwargs)
    for run in found:
        if _call(workflow, run.args, run.kwargs) == wanted:
            return run
    calls = "\n".join(f"  {run.args!r} {run.kwargs!r}" for run in found) or "  nothing"
    raise AssertionError(
        f"no run of {_name(workflow)!r} with {args!r} {kwargs!r} is enqueued; of it there is:\n{calls}"
    )


def assert_not_enqueued(workflow: Any) -> None:
    """No run of it waits for its start."""
    found = enqueued(workflow)
    if found:
        raise AssertionError(f"{len(found)} runs of {_name(workflow)!r} are enqueued: {found!r}")


def _call(workflow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        declaration = workflows.get(workflow) if isinstance(workflow, str) else workflow.declaration
        return declaration.arguments(args, kwargs)
    except (UnknownWorkflow, TypeError):  # not here, or a call that does not fit it
        return args, kwargs


def _name(workflow: Any) -> str:
    return workflow if isinstance(workflow, str) else str(workflow.name)
