"""The shop's probe: how often the body of a step really began."""

from __future__ import annotations

from django.db import models
from django.db.models.expressions import Func


class ClockTimestamp(Func):
    """The database's clock at this very moment; `Now` would give the start of the transaction."""

    template = "clock_timestamp()"
    output_field = models.DateTimeField()


class BodyRun(models.Model):
    """One beginning of a step's body.

    Written by a connection of its own that commits at once, so it stays even if the process is killed in the
    next instant and everything the step did is rolled back.
    """

    workflow_id = models.CharField(max_length=255)
    step = models.CharField(max_length=100)
    part = models.PositiveIntegerField(default=0, help_text="Which of several steps of one name: the chunk.")
    pid = models.PositiveIntegerField("process")
    began_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        indexes = [models.Index(fields=["workflow_id", "step", "part"], name="shop_bodyrun_step")]

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.step} {self.part}"
