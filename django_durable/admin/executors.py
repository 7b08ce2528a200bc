"""Worker processes, and whether they are still trusted."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from django_durable.admin.base import ReadOnlyAdmin
from django_durable.admin.chips import chip
from django_durable.admin.moments import length, moment
from django_durable.models import Executor
from django_durable.models.database import Clock


@admin.register(Executor)
class ExecutorAdmin(ReadOnlyAdmin):
    list_display = ["process", "state", "serves", "app_version", "up_for", "heartbeat"]
    fields = ["id", "process", "state", "serves", "app_version", "up_for", "heartbeat"]
    ordering = ["-started_at", "id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        executors: QuerySet[Any] = super().get_queryset(request).annotate(clock=Clock())
        return executors

    @admin.display(description="process")
    def process(self, executor: Executor) -> str:
        return str(executor)

    @admin.display(description="state")
    def state(self, executor: Any) -> SafeString:
        return chip("Alive", "good") if executor.lease_expires_at > executor.clock else chip("Lost", "bad")

    @admin.display(description="queues")
    def serves(self, executor: Executor) -> str:
        return ", ".join(map(str, executor.queues)) or "all"

    @admin.display(description="up for")
    def up_for(self, executor: Any) -> SafeString | str:
        return moment(executor.started_at, length(executor.clock - executor.started_at))

    @admin.display(description="last heartbeat")
    def heartbeat(self, executor: Any) -> SafeString | str:
        return moment(executor.heartbeat_at, f"{length(executor.clock - executor.heartbeat_at)} ago")
