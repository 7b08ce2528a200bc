"""When a workflow starts by itself."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from django_durable.models.fields import KeyField


class Schedule(models.Model):
    """One schedule: a cron expression in a zone, or an interval."""

    class CatchUp(models.TextChoices):
        NONE = "none", "Skip what was missed"
        LATEST = "latest", "Run the latest missed occurrence"
        ALL = "all", "Run every missed occurrence"

    name = KeyField(primary_key=True)
    workflow = models.TextField(db_comment="Registered name of the workflow function")
    queue = models.TextField(null=True, blank=True)
    cron = models.TextField(null=True, blank=True)
    interval = models.DurationField(null=True, blank=True)
    zone = models.TextField(default="UTC")
    input = models.TextField()
    serialization = models.TextField(default="json")
    catch_up = models.TextField(choices=CatchUp.choices, default=CatchUp.LATEST)
    jitter = models.DurationField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_fired_at = models.DateTimeField(null=True, editable=False)
    problem = models.TextField(null=True, editable=False, db_comment="Why it cannot fire")
    code_owned = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "durable_schedule"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(cron__isnull=False, interval__isnull=True)
                | Q(cron__isnull=True, interval__isnull=False),
                name="durable_schedule_cron_or_interval",
            ),
        ]

    def __str__(self) -> str:
        return self.name
