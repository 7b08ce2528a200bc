"""What every page of the app has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.widgets import AdminTextInputWidget
from django.db import models
from django.http import HttpRequest, HttpResponse

from django_durable.models import database

if TYPE_CHECKING:
    Admin = admin.ModelAdmin[Any]
else:
    Admin = admin.ModelAdmin


class DurableAdmin(Admin):
    """Names are one line, whatever the column holds; the count of all rows is never asked for."""

    formfield_overrides = {models.TextField: {"widget": AdminTextInputWidget}}
    show_full_result_count = False

    @property
    def using(self) -> str:
        return database.alias()

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        return super().get_queryset(request).using(self.using)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        if not database.is_storable(object_id):
            return None
        return super().get_object(request, object_id, from_field)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """What no row can hold is no lookup."""
        texts = value if isinstance(value, list) else [value]
        storable = all(database.is_storable(str(text)) for text in texts)
        return storable and super().lookup_allowed(lookup, value, request)

    def response_action(
        self, request: HttpRequest, queryset: models.QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """Of rows that are selected, one that cannot be there is none."""
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        given: Any = request.POST.copy()
        given.setlist(ACTION_CHECKBOX_NAME, [each for each in selected if database.is_storable(each)])
        request.POST = given
        return super().response_action(request, queryset, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.save(using=self.using)

    class Media:
        css = {"all": ["django_durable/admin.css"]}


class ReadOnlyAdmin(DurableAdmin):
    """Rows that only the engine writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def log_changes(request: HttpRequest, changed: Any, done: str) -> None:
    """An entry in the history of each row, in the name of who asked for it."""
    user: Any = request.user.pk
    LogEntry.objects.log_actions(user, changed, CHANGE, f"{done.capitalize()} in the list.")
