"""Change the code of a body while runs of it are under way: new runs take the new branch, old ones theirs."""

from __future__ import annotations

from django_durable.core.identifiers import check_identifier
from django_durable.engine.execution.context import WorkflowContext, required
from django_durable.engine.execution.effects import keep
from django_durable.engine.execution.operations import Operation, at_once
from django_durable.engine.waits.waiting import begin


def patch(name: str) -> Operation:
    """True for a run that was not yet here, which is marked; False, taking no number, for one that was."""
    context, marker = _marker(name, "patch()")
    recorded = context.history.get(context.numbering.next)
    if recorded is not None and recorded.name != marker:
        return at_once(False)
    number = context.take_number()
    if recorded is not None:
        return at_once(True)
    return at_once(lambda: keep(context, number, marker, True))


def deprecate_patch(name: str) -> Operation:
    """For when no run of the old branch is left: takes the mark's number in those that bear it."""
    context, marker = _marker(name, "deprecate_patch()")
    recorded = context.history.get(context.numbering.next)
    if recorded is not None and recorded.name == marker:
        context.take_number()
    return at_once(True)


def _marker(name: str, call: str) -> tuple[WorkflowContext, str]:
    context = required(call)
    begin(context, call)
    return context, f"durable.patch:{check_identifier('patch name', name)}"
