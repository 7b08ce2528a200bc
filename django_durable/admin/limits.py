"""Limits that workflows of any queue share by their key."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import models
from django.db.models import Count, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat
from django.http import HttpRequest
from django.utils.safestring import SafeString

from django_durable.admin.base import DurableAdmin
from django_durable.admin.chips import chip
from django_durable.admin.lengths import LengthField
from django_durable.admin.moments import NOTHING
from django_durable.core.durations import in_words
from django_durable.core.planning.budget import limit_bucket
from django_durable.models import Limit, RateStart, WorkflowStatus
from django_durable.models.database import Clock, Seconds


@admin.register(Limit)
class LimitAdmin(DurableAdmin):
    list_display = ["key", "running", "starts"]
    search_fields = ["key"]
    fields = ["key", "max_running", ("max_starts", "window")]
    formfield_overrides = {
        **DurableAdmin.formfield_overrides,
        models.DurationField: {"form_class": LengthField},
    }

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        limits: QuerySet[Any] = super().get_queryset(request)
        limits = limits.annotate(running_now=_running(), starts_now=_starts())
        return limits

    def get_readonly_fields(self, request: HttpRequest, obj: Limit | None = None) -> Any:
        return () if obj is None else ("key",)

    @admin.display(description="running", ordering="running_now")
    def running(self, limit: Any) -> SafeString | str:
        return _use(limit.running_now, limit.max_running)

    @admin.display(description="starts", ordering="starts_now")
    def starts(self, limit: Any) -> SafeString | str:
        if limit.window is None:
            return NOTHING
        return _use(limit.starts_now, limit.max_starts, f" in {in_words(limit.window)}")


def _running() -> Coalesce:
    runs = WorkflowStatus.objects.filter(limit_key=OuterRef("pk"), claim_seq__isnull=False)
    return _count(runs, "limit_key")


def _starts() -> Coalesce:
    bucket = Concat(Value(limit_bucket("")), OuterRef("pk"), output_field=models.TextField())
    starts = RateStart.objects.filter(bucket=bucket, started_at__gt=Clock() - Seconds(OuterRef("window")))
    return _count(starts, "bucket")


def _count(rows: QuerySet[Any], column: str) -> Coalesce:
    return Coalesce(Subquery(rows.order_by().values(column).annotate(count=Count("*")).values("count")), 0)


def _use(now: int, most: int | None, within: str = "") -> SafeString | str:
    if most is None:
        return str(now)
    words = f"{now} of {most}{within}"
    return chip(words, "busy") if now >= most else words
