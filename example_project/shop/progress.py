"""How far an order or an import has come, read from the workflow's own records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from django_durable.models import StepOutput, WorkflowStatus
from shop.models import CatalogueImport, Order

ENDED = frozenset({"SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"})
UNDER_WAY = frozenset({"PENDING", "WAITING"})

TITLES = {
    "reserve": "Take the prints off the shelf",
    "charge": "Charge the card",
    "ship": "Hand the parcel to the carrier",
    "decline": "Put everything back",
    "confirm": "Write to you",
}


@dataclass(frozen=True)
class Stage:
    """One step as a customer sees it; `state` is done, failed, running or ahead."""

    name: str
    title: str
    state: str
    note: str = ""


@dataclass(frozen=True)
class Progress:
    """`state` is in the words people see: how far the workflow is, and how the order ended."""

    state: str
    tone: str
    ended: bool
    stages: list[Stage]

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def of_order(order: Order) -> Progress:
    """The order's stages: those recorded, the one that runs, and those that lie ahead."""
    workflow = WorkflowStatus.objects.filter(pk=order.workflow_id).first()
    if workflow is None:
        return Progress("Unknown", "failed", True, [])
    outputs = {output.name: output for output in StepOutput.objects.filter(workflow=workflow)}
    names = _stage_names(outputs)
    running = next((name for name in names if name not in outputs), None)
    if workflow.status not in UNDER_WAY:
        running = None
    stages = [_stage(name, outputs.get(name), name == running) for name in names]
    if workflow.status == "SUCCESS":  # what a customer wants to know is how the order ended
        order.refresh_from_db(fields=["state"])
        return Progress(order.get_state_display(), order.tone, True, stages)
    return Progress(workflow.get_status_display(), _tone(workflow), workflow.status in ENDED, stages)


def of_import(catalogue_import: CatalogueImport) -> dict[str, object]:
    """Rows done and in all, and the workflow's state."""
    workflow = WorkflowStatus.objects.filter(pk=catalogue_import.workflow_id).first()
    return {
        "state": workflow.get_status_display() if workflow else "Unknown",
        "tone": _tone(workflow) if workflow else "failed",
        "ended": workflow is None or workflow.status in ENDED,
        "done": catalogue_import.rows_done,
        "total": catalogue_import.rows_total,
        "percent": catalogue_import.percent,
    }


def _stage_names(outputs: Mapping[str, StepOutput]) -> list[str]:
    refused = "decline" in outputs or any(output.error is not None for output in outputs.values())
    if not refused:
        return ["reserve", "charge", "ship", "confirm"]
    charged = ["charge"] if "charge" in outputs else []
    return ["reserve", *charged, "decline", "confirm"]


def _stage(name: str, output: StepOutput | None, running: bool) -> Stage:
    if output is None:
        return Stage(name, TITLES[name], "running" if running else "ahead")
    took = (output.completed_at - output.started_at).total_seconds() * 1000
    tries = f", {output.attempts} tries" if output.attempts > 1 else ""
    return Stage(
        name, TITLES[name], "failed" if output.error is not None else "done", f"{took:,.0f} ms{tries}"
    )


def _tone(workflow: WorkflowStatus) -> str:
    if workflow.status == "SUCCESS":
        return "done"
    if workflow.status in ENDED:
        return "failed"
    return "running" if workflow.status in UNDER_WAY else "ahead"
