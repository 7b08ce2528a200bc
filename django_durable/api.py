"""What code calls from anywhere: inside workflows, in views, in shells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django_durable.core.options import Options
from django_durable.engine.context import step_context, workflow_id

if TYPE_CHECKING:
    from django_durable.engine.handle import Handle

__all__ = ["enqueue_by_name", "retrieve", "step_context", "workflow_id"]


def enqueue_by_name(name: str, *args: Any, options: Options | None = None, **kwargs: Any) -> Handle:
    """Enqueue a workflow whose code another service owns; the name is not looked up here."""
    from django_durable.core.identifiers import check_identifier
    from django_durable.engine.launcher import enqueue  # needs the models, which may not be loaded yet

    return enqueue(check_identifier("workflow name", name), options or Options(), (args, kwargs))


def retrieve(workflow_id: str) -> Handle:
    """A handle on a run that exists; raises WorkflowNotFound."""
    from django_durable.engine.handle import Handle  # needs the models, which may not be loaded yet

    handle = Handle(workflow_id)
    _ = handle.status
    return handle
