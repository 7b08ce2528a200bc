"""The recorded result of one durable call of a run."""

from __future__ import annotations

from django.db import models

from django_durable.models.workflow import WorkflowStatus


class StepOutput(models.Model):
    """One checkpoint: the step that the run called as its `step`-th, and what came of it."""

    pk = models.CompositePrimaryKey("workflow_id", "step")
    workflow = models.ForeignKey(
        WorkflowStatus, on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="steps"
    )
    step = models.IntegerField(db_comment="Number of the durable call, from 1")
    name = models.TextField()
    output = models.TextField(null=True)
    error = models.TextField(null=True)
    serialization = models.TextField(default="json")
    child = models.TextField(null=True, db_comment="Id of the workflow this step started or awaited")
    attempts = models.IntegerField(default=1)
    started_at = models.DateTimeField()
    completed_at = models.DateTimeField()

    class Meta:
        db_table = "durable_step_output"

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.step} {self.name}"
