"""A worker process's registered identity, trusted as long as its lease runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import models

from django_durable.models.database import Clock, Seconds

if TYPE_CHECKING:
    from typing import Self


class ExecutorQuerySet(models.QuerySet["Executor"]):
    def alive(self) -> Self:
        return self.filter(lease_expires_at__gt=Clock())

    def lost(self) -> Self:
        return self.filter(lease_expires_at__lte=Clock())

    def renew(self, executor_id: UUID, lease: timedelta) -> bool:
        """Extend the lease from now; False if the executor was taken for lost and is gone."""
        until = Clock() + Seconds(lease)
        return bool(self.filter(id=executor_id).update(heartbeat_at=Clock(), lease_expires_at=until))


class Executor(models.Model):
    """One start of a worker process; never reused, so a restarted host is somebody else."""

    id = models.UUIDField(primary_key=True)
    hostname = models.TextField()
    pid = models.IntegerField()
    app_version = models.TextField(null=True)
    queues = models.JSONField(default=list, db_comment="Queues it was narrowed to; empty = all")
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    lease_expires_at = models.DateTimeField()

    objects = ExecutorQuerySet.as_manager()

    class Meta:
        db_table = "durable_executor"
        indexes = [models.Index(fields=["lease_expires_at"], name="durable_lease")]

    def __str__(self) -> str:
        return f"{self.hostname}:{self.pid}"
