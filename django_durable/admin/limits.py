"""Limits that workflows of any queue share by their key."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from django_durable.admin.base import DurableAdmin
from django_durable.admin.moments import NOTHING, length
from django_durable.models import Limit


@admin.register(Limit)
class LimitAdmin(DurableAdmin):
    list_display = ["key", "max_running", "rate"]
    search_fields = ["key"]
    fields = ["key", "max_running", ("max_starts", "window")]

    def get_readonly_fields(self, request: HttpRequest, obj: Limit | None = None) -> Any:
        return () if obj is None else ("key",)

    @admin.display(description="rate")
    def rate(self, limit: Limit) -> str:
        return NOTHING if limit.max_starts is None else f"{limit.max_starts} starts in {length(limit.window)}"
