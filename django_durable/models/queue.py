"""A named line of workflows, and the limits that hold for it across the fleet."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models

from django_durable.core.identifiers import check_identifier
from django_durable.exceptions import InvalidIdentifier
from django_durable.models.database import Clock
from django_durable.models.fields import KeyField
from django_durable.models.limit import fault_of_period

if TYPE_CHECKING:
    from typing import Self

DEFAULT_QUEUE = "default"


def _at_least_one(verbose_name: str, help_text: str) -> models.IntegerField[int | None, int | None]:
    return models.IntegerField(
        verbose_name, null=True, blank=True, validators=[MinValueValidator(1)], help_text=help_text
    )


def validate_name(value: str) -> None:
    try:
        check_identifier("queue name", value)
    except InvalidIdentifier as error:
        raise ValidationError(str(error)) from error


class QueueQuerySet(models.QuerySet["Queue"]):
    def running(self) -> Self:
        return self.filter(paused_at__isnull=True)

    def pause(self) -> int:
        return self.filter(paused_at__isnull=True).update(paused_at=Clock())

    def unpause(self) -> int:
        return self.filter(paused_at__isnull=False).update(paused_at=None)


class Queue(models.Model):
    """One queue. Workflows of a queue without a row wait until it gets one."""

    name = KeyField(primary_key=True, validators=[validate_name])
    concurrency = _at_least_one("concurrency", "Workflows in flight over all workers.")
    worker_concurrency = _at_least_one("worker concurrency", "Workflows in flight in one worker process.")
    rate_limit = _at_least_one("rate limit", "Starts over all workers within one rate period.")
    rate_period = models.DurationField(
        null=True, blank=True, help_text="The sliding window of the rate limit."
    )
    partition_concurrency = _at_least_one("partition concurrency", "In flight for each partition key.")
    partition_worker_concurrency = _at_least_one(
        "partition worker concurrency", "In flight for each partition key in one worker process."
    )
    partition_rate_limit = _at_least_one("partition rate limit", "Starts for each partition key.")
    partition_rate_period = models.DurationField(null=True, blank=True)
    fair = models.BooleanField(default=False, help_text="Take turns between partition keys or limit keys.")
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    polling_interval = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0.01)], help_text="Seconds; empty: the default."
    )
    waiting_holds_slot = models.BooleanField(
        default=True, help_text="A workflow that sleeps or waits for a message still counts as in flight."
    )
    code_owned = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = QueueQuerySet.as_manager()

    class Meta:
        db_table = "durable_queue"
        ordering = ["name"]
        permissions = [("pause_queue", "Can pause queues and let them go on")]

    def __str__(self) -> str:
        return self.name

    @property
    def has_fleet_budget(self) -> bool:
        """Whether some limit of its own must be counted over all workers."""
        return any(
            limit is not None
            for limit in (
                self.concurrency,
                self.rate_limit,
                self.partition_concurrency,
                self.partition_rate_limit,
            )
        )

    @property
    def limits_anything(self) -> bool:
        return self.has_fleet_budget or self.limits_partitions or self.worker_concurrency is not None

    @property
    def limits_partitions(self) -> bool:
        return any(
            limit is not None
            for limit in (
                self.partition_concurrency,
                self.partition_worker_concurrency,
                self.partition_rate_limit,
            )
        )

    def clean(self) -> None:
        problems = {
            **_exceeds("worker_concurrency", self.worker_concurrency, "concurrency", self.concurrency),
            **_exceeds("partition_concurrency", self.partition_concurrency, "concurrency", self.concurrency),
            **_exceeds(
                "partition_worker_concurrency",
                self.partition_worker_concurrency,
                "partition_concurrency",
                self.partition_concurrency,
            ),
            **_exceeds(
                "partition_worker_concurrency",
                self.partition_worker_concurrency,
                "worker_concurrency",
                self.worker_concurrency,
            ),
            **_half_a_rate("rate_limit", self.rate_limit, "rate_period", self.rate_period),
            **_half_a_rate(
                "partition_rate_limit",
                self.partition_rate_limit,
                "partition_rate_period",
                self.partition_rate_period,
            ),
            **self._partition_rate_above_queue_rate(),
        }
        if problems:
            raise ValidationError(problems)

    def _partition_rate_above_queue_rate(self) -> dict[str, str]:
        of_queue = _starts_a_second(self.rate_limit, self.rate_period)
        of_partition = _starts_a_second(self.partition_rate_limit, self.partition_rate_period)
        if of_queue is None or of_partition is None or of_partition <= of_queue:
            return {}
        return {"partition_rate_limit": "A partition's rate cannot be above the rate of its queue."}


def _starts_a_second(limit: int | None, period: timedelta | None) -> float | None:
    return limit / period.total_seconds() if limit and period else None


def _exceeds(name: str, value: int | None, bound_name: str, bound: int | None) -> dict[str, str]:
    if value is None or bound is None or value <= bound:
        return {}
    words = {part: part.replace("_", " ") for part in (name, bound_name)}
    return {name: f"The {words[name]} ({value}) cannot be above the {words[bound_name]} ({bound})."}


def _half_a_rate(name: str, limit: int | None, period_name: str, period: timedelta | None) -> dict[str, str]:
    if (limit is None) == (period is None):
        fault = None if period is None else fault_of_period(period)
        return {} if fault is None else {period_name: f"The period {fault}."}
    missing = period_name if period is None else name
    return {missing: "A rate needs both a limit and a period."}
