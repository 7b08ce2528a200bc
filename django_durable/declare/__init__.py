"""The decorators that make a function durable."""

from __future__ import annotations

from django_durable.declare.steps import Step, step
from django_durable.declare.workflows import Debounced, Enqueuer, Workflow, workflow

__all__ = ["Debounced", "Enqueuer", "Step", "Workflow", "step", "workflow"]
