"""What was sent to a workflow; kept for audit after it was received."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from django_durable.models.workflow import WorkflowStatus


class Message(models.Model):
    """One message to a run, in the order of `id` within its topic."""

    id = models.BigAutoField(primary_key=True)
    workflow = models.ForeignKey(
        WorkflowStatus, on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="messages"
    )
    topic = models.TextField(default="")
    payload = models.TextField()
    serialization = models.TextField(default="json")
    idempotency_key = models.TextField(null=True)
    sent_at = models.DateTimeField()
    consumed_step = models.IntegerField(null=True, db_comment="Step that received it; null: not yet received")

    class Meta:
        db_table = "durable_message"
        indexes = [
            models.Index(fields=["workflow", "topic", "id"], name="durable_mailbox"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["workflow", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="durable_message_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.topic} {self.id}"
