"""A limit held over all queues and workers by the workflows that carry its key."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from django_durable.core.identifiers import check_identifier
from django_durable.core.payloads.excerpt import quoted
from django_durable.core.planning.coherence import faults_of_limit
from django_durable.exceptions import InvalidIdentifier, InvalidLimit
from django_durable.models import database
from django_durable.models.fields import KeyField
from django_durable.models.settable import Settable, SettableQuerySet, at_least_one, countable


def validate_key(value: str) -> None:
    try:
        check_identifier("limit key", value)
    except InvalidIdentifier as error:
        raise ValidationError(str(error)) from error


class LimitInUse(NamedTuple):
    """A limit, and what is in use of it at one moment; `waiting` is what stands in line with its key."""

    key: str
    max_running: int | None
    running: int
    max_starts: int | None
    window: timedelta | None
    starts: int
    waiting: int


class LimitQuerySet(SettableQuerySet["Limit"]):
    def set(self, key: str, /, **limits: Any) -> Limit:
        """Give a key a limit, or edit the one it has: `max_running`, and `max_starts` in each window `per`.

        What is not named stays as it is, None takes it away. Lengths are timedeltas or seconds. It holds from
        the next claim, or if called within a transaction from its commit. Raises InvalidLimit.
        """
        check_identifier("limit key", key)
        if "per" in limits and "window" in limits:
            raise InvalidLimit(f"limit {key!r}", "per and window say the same thing twice; give one of them")
        if "per" in limits:
            limits["window"] = limits.pop("per")
        return self.keep(key, limits)

    async def aset(self, key: str, /, **limits: Any) -> Limit:
        """set(), awaited."""
        return await sync_to_async(self.set)(key, **limits)

    def clear(self, key: str) -> bool:
        """Let a key be unlimited; whether it had a limit."""
        return bool(self.here.filter(pk=check_identifier("limit key", key)).delete()[0])

    async def aclear(self, key: str) -> bool:
        """clear(), awaited."""
        return await sync_to_async(self.clear)(key)

    def in_use(self, keys: Iterable[str] | None = None) -> list[LimitInUse]:
        """The limits of these keys, or all, by key; counting what waits reads the whole line.

        Raises InvalidIdentifier for what no limit can have as its key.
        """
        asked = None if keys is None else _several(keys)
        return [LimitInUse(*row) for row in database.fetch("limits_in_use", {"keys": asked}, self.here.db)]

    async def ain_use(self, keys: Iterable[str] | None = None) -> list[LimitInUse]:
        """in_use(), awaited."""
        return await sync_to_async(self.in_use)(keys)


def _several(keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str):
        raise InvalidIdentifier("limit keys", f"must be several texts; for the one key pass [{quoted(keys)}]")
    return [check_identifier("limit key", key) for key in keys]


class Limit(Settable):
    """The limit of one key. A key without a row is unlimited."""

    key = KeyField(primary_key=True, validators=[validate_key])
    max_running = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="In flight over all queues."
    )
    max_starts = models.IntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Starts within one window."
    )
    window = models.DurationField(null=True, blank=True, help_text="The sliding window of max starts.")

    objects = LimitQuerySet.as_manager()

    class Meta:
        db_table = "durable_limit"
        ordering = ["key"]
        constraints = [
            *at_least_one("durable_limit", "max_running", "max_starts"),
            countable("durable_limit", "window"),
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
        if faults := faults_of_limit(self.max_running, self.max_starts, self.window):
            raise ValidationError(faults)


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
