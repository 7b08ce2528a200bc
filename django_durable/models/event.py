"""Values that a workflow publishes about itself."""

from __future__ import annotations

from django.db import models

from django_durable.models.workflow import WorkflowStatus


class Event(models.Model):
    """The current value of one key of a run."""

    pk = models.CompositePrimaryKey("workflow_id", "key")
    workflow = models.ForeignKey(
        WorkflowStatus, on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="events"
    )
    key = models.TextField()
    value = models.TextField()
    serialization = models.TextField(default="json")
    updated_at = models.DateTimeField()

    class Meta:
        db_table = "durable_event"

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.key}"


class EventHistory(models.Model):
    """Each value a key ever had, by the step that set it: what fork and rewind go back to."""

    pk = models.CompositePrimaryKey("workflow_id", "key", "step")
    workflow = models.ForeignKey(
        WorkflowStatus,
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="event_history",
    )
    key = models.TextField()
    step = models.IntegerField()
    value = models.TextField()
    serialization = models.TextField(default="json")
    set_at = models.DateTimeField()

    class Meta:
        db_table = "durable_event_history"

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.key} {self.step}"
