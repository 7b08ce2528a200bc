"""A limit held over all queues and workers by the workflows that carry its key."""

from __future__ import annotations

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from django_durable.core.identifiers import check_identifier
from django_durable.core.options import LONGEST
from django_durable.exceptions import InvalidIdentifier
from django_durable.models.fields import KeyField


def validate_key(value: str) -> None:
    try:
        check_identifier("limit key", value)
    except InvalidIdentifier as error:
        raise ValidationError(str(error)) from error


def fault_of_period(period: timedelta) -> str | None:
    """What is wrong with the sliding window of a rate: PostgreSQL has to count back from now by it."""
    if period <= timedelta(0):
        return "must be longer than nothing"
    return None if period <= LONGEST else f"must be at most {LONGEST.days} days long"


class Limit(models.Model):
    """The limit of one key. A key without a row is unlimited."""

    key = KeyField(primary_key=True, validators=[validate_key])
    max_running = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="In flight over all queues."
    )
    max_starts = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Starts within one window."
    )
    window = models.DurationField(null=True, blank=True, help_text="The sliding window of max starts.")

    class Meta:
        db_table = "durable_limit"
        ordering = ["key"]
        constraints = [
            models.CheckConstraint(
                condition=Q(max_running__isnull=False) | Q(max_starts__isnull=False),
                name="durable_limit_limits_something",
            ),
            models.CheckConstraint(
                condition=Q(max_starts__isnull=True, window__isnull=True)
                | Q(max_starts__isnull=False, window__isnull=False),
                name="durable_limit_whole_rate",
            ),
        ]

    def __str__(self) -> str:
        return self.key

    def clean(self) -> None:
        if self.max_running is None and self.max_starts is None:
            raise ValidationError("Give max running, or max starts with a window, or both.")
        if (self.max_starts is None) != (self.window is None):
            missing = "window" if self.window is None else "max_starts"
            raise ValidationError({missing: "A rate needs both max starts and a window."})
        fault = None if self.window is None else fault_of_period(self.window)
        if fault is not None:
            raise ValidationError({"window": f"The window {fault}."})


class RateStart(models.Model):
    """One counted start of a rate: of a limit key, a queue, or a partition of a queue."""

    id = models.BigAutoField(primary_key=True)
    bucket = models.TextField()
    started_at = models.DateTimeField()

    class Meta:
        db_table = "durable_rate_start"
        indexes = [models.Index(fields=["bucket", "started_at"], name="durable_rate_window")]

    def __str__(self) -> str:
        return f"{self.bucket} {self.started_at}"
