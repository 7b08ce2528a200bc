"""A limit held over all queues and workers by the workflows that carry its key."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from django_durable.core.identifiers import check_identifier
from django_durable.exceptions import InvalidIdentifier
from django_durable.models.fields import KeyField


def validate_key(value: str) -> None:
    try:
        check_identifier("limit key", value)
    except InvalidIdentifier as error:
        raise ValidationError(str(error)) from error


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
        if self.window is not None and self.window.total_seconds() <= 0:
            raise ValidationError({"window": "The window must be longer than nothing."})


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
