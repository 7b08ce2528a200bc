"""A named line of workflows, and the limits that hold for it across the fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from django_durable.core.identifiers import check_identifier
from django_durable.core.planning.budget import QueueLimits
from django_durable.core.planning.coherence import faults_of_queue
from django_durable.exceptions import InvalidIdentifier
from django_durable.models.database import Clock
from django_durable.models.fields import KeyField
from django_durable.models.settable import Settable, SettableQuerySet, at_least_one, countable, whole_rate

if TYPE_CHECKING:
    from typing import Self

DEFAULT_QUEUE = "default"
COUNTS = (
    "concurrency",
    "worker_concurrency",
    "rate_limit",
    "partition_concurrency",
    "partition_worker_concurrency",
    "partition_rate_limit",
)
RATES = ("rate_limit", "partition_rate_limit")
PERIODS = ("rate_period", "partition_rate_period")
LIMITS = (*COUNTS, *PERIODS)
SHORTEST_POLL, LONGEST_POLL = 0.01, 86_400  # seconds


def _at_least_one(verbose_name: str, help_text: str) -> models.IntegerField[int | None, int | None]:
    return models.IntegerField(
        verbose_name, null=True, blank=True, validators=[MinValueValidator(1)], help_text=help_text
    )


def validate_name(value: str) -> None:
    try:
        check_identifier("queue name", value)
    except InvalidIdentifier as error:
        raise ValidationError(str(error)) from error


class QueueQuerySet(SettableQuerySet["Queue"]):
    def set(self, name: str, /, **limits: Any) -> Queue:
        """Make a queue, or edit the limits and habits named of the one there is; None takes a limit away.

        Periods are timedeltas or seconds. It holds from the next claim, or if called within a transaction
        from its commit. Raises InvalidLimit, also where DURABLE['QUEUES'] owns the queue.
        """
        return self.keep(check_identifier("queue name", name), limits)

    async def aset(self, name: str, /, **limits: Any) -> Queue:
        """set(), awaited."""
        return await sync_to_async(self.set)(name, **limits)

    def clear(self, name: str) -> bool:
        """Take all limits of a queue away, and leave its habits; whether it had any."""
        row = self.here.filter(pk=check_identifier("queue name", name)).first()
        had_limits = row is not None and any(getattr(row, limit) is not None for limit in LIMITS)
        if had_limits:
            self.keep(name, dict.fromkeys(LIMITS))
        return had_limits

    async def aclear(self, name: str) -> bool:
        """clear(), awaited."""
        return await sync_to_async(self.clear)(name)

    def running(self) -> Self:
        return self.filter(paused_at__isnull=True)

    def pause(self) -> int:
        return self.filter(paused_at__isnull=True).update(paused_at=Clock())

    def unpause(self) -> int:
        return self.filter(paused_at__isnull=False).update(paused_at=None)


class Queue(Settable):
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
        null=True,
        blank=True,
        validators=[MinValueValidator(SHORTEST_POLL), MaxValueValidator(LONGEST_POLL)],
        help_text="Seconds; empty: the default.",
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
        constraints = [
            *at_least_one("durable_queue", *COUNTS),
            *(
                whole_rate("durable_queue", limit, period)
                for limit, period in zip(RATES, PERIODS, strict=True)
            ),
            *(countable("durable_queue", period) for period in PERIODS),
            models.CheckConstraint(
                condition=models.Q(polling_interval__range=(SHORTEST_POLL, LONGEST_POLL)),
                name="durable_queue_polls_at_times",
            ),
        ]
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

    @property
    def why_not_settable(self) -> str | None:
        if not self.code_owned:
            return None
        return "it is declared in DURABLE['QUEUES'], where its limits are set, and again after each migrate"

    def clean(self) -> None:
        limits = QueueLimits(**{limit: getattr(self, limit) for limit in LIMITS})
        if faults := faults_of_queue(limits):
            raise ValidationError(faults)
