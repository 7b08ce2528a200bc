"""Append-only logs that a workflow writes and others read while it runs."""

from __future__ import annotations

from django.db import models

from django_durable.models.workflow import WorkflowStatus


class StreamEntry(models.Model):
    """One value of a stream; `closes` marks its end."""

    pk = models.CompositePrimaryKey("workflow_id", "key", "position")
    workflow = models.ForeignKey(
        WorkflowStatus,
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="stream_entries",
    )
    key = models.TextField()
    position = models.BigIntegerField()
    step = models.IntegerField()
    value = models.TextField(null=True)
    serialization = models.TextField(default="json")
    closes = models.BooleanField(default=False)
    written_at = models.DateTimeField()

    class Meta:
        db_table = "durable_stream_entry"

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.key} {self.position}"
