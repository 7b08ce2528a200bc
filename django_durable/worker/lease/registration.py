"""The rows by which the fleet knows this process and the release it runs."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction

from django_durable.models import AppVersion, Executor
from django_durable.models.database import Clock, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What the row of an executor says; `lease` is seconds."""

    using: str
    lease: float
    name: str = ""
    app_version: str | None = None
    queues: tuple[str, ...] = ()

    def register(self, executor_id: UUID) -> None:
        """Write the row, and the version's if this process is the first of it; both start now."""
        with transaction.atomic(using=self.using):
            if self.app_version is not None:
                version = AppVersion(name=self.app_version, registered_at=Clock(), promoted_at=Clock())
                AppVersion.objects.using(self.using).bulk_create([version], ignore_conflicts=True)
            Executor.objects.using(self.using).create(
                id=executor_id,
                hostname=self.name or socket.gethostname(),
                pid=os.getpid(),
                app_version=self.app_version,
                queues=list(self.queues),
                started_at=Clock(),
                heartbeat_at=Clock(),
                lease_expires_at=Clock() + Seconds(timedelta(seconds=self.lease)),
            )

    def renew(self, executor_id: UUID) -> bool:
        """Extend the lease from now; False if others took the executor for lost."""
        executors = Executor.objects.using(self.using)
        return bool(executors.renew(executor_id, timedelta(seconds=self.lease)))

    def withdraw(self, executor_id: UUID) -> None:
        """End the lease now, so that whatever is still owned need not wait for its end."""
        Executor.objects.using(self.using).filter(pk=executor_id).update(lease_expires_at=Clock())
