"""Runs: a list to find one in, a page of what it was given, did and gave, and the verbs on many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from django_durable.admin import verbs
from django_durable.admin.base import ReadOnlyAdmin
from django_durable.admin.chips import status_chip
from django_durable.admin.listing import BoundedList, BoundedPaginator, NameFilter, QueueFilter, StatusFilter
from django_durable.admin.moments import NOTHING, exact, length, moment
from django_durable.admin.payloads import HIDDEN, LONGEST_RECORD, Payload
from django_durable.admin.steps import MOST, step_rows
from django_durable.core.states import BEGUN
from django_durable.engine.declared import workflows
from django_durable.models import WorkflowStatus, database
from django_durable.models.database import Clock

HEAVY = ("input", "output", "error", "attributes", "headers")
LOOKUPS = frozenset({"status", "queue", "name", "parent__exact", "executor__exact"})
ALWAYS = ("workflow_id", "function", "state", "queue", "priority", "attempts", "claims")
WHERE_FILLED = (
    "partition_key",
    "limit_key",
    "deduplication_id",
    "app_version",
    "executor_id",
    "parent_id",
    "forked_from",
    "schedule_name",
    "wait_topic",
)
INSTANTS = (
    "created_at",
    "delay_until",
    "wake_at",
    "started_at",
    "completed_at",
    "deadline",
    "expires_at",
)
PAYLOADS = ("given", "result", "failure")


@admin.register(WorkflowStatus)
class WorkflowAdmin(ReadOnlyAdmin):
    list_display = ["id", "state", "function", "queue", "age", "duration", "attempts", "priority"]
    list_filter = [StatusFilter, QueueFilter, NameFilter]
    ordering = ["-created_at", "-id"]
    sortable_by = ["age"]
    search_fields = ["id"]
    search_help_text = "The whole id of a workflow"
    paginator = BoundedPaginator
    show_facets = admin.ShowFacets.NEVER
    actions = [verbs.cancel, verbs.resume, verbs.retry]

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return _may(request, "cancel_workflow")

    def has_resume_permission(self, request: HttpRequest) -> bool:
        return _may(request, "resume_workflow")

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return _may(request, "retry_workflow")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """A lookup on a payload would tell what is in it, letter by letter."""
        return lookup in LOOKUPS

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[BoundedList]:
        return BoundedList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        runs: QuerySet[Any] = super().get_queryset(request).defer(*HEAVY).annotate(clock=Clock())
        return runs

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        found = queryset.filter(pk=search_term) if database.is_storable(search_term) else queryset.none()
        return found, False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        if not database.is_storable(object_id):
            return None
        columns = {
            **Payload.columns("input"),
            **Payload.columns("output"),
            **Payload.columns("error", LONGEST_RECORD),
        }
        rows = self.get_queryset(request).defer(None).defer("input", "output", "error").annotate(**columns)
        return rows.filter(pk=object_id).first()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [
            (None, {"fields": [*ALWAYS, *_filled(obj, WHERE_FILLED)]}),
            ("Time", {"fields": [*map(_exactly, _filled(obj, INSTANTS)), "duration"]}),
            ("Data", {"fields": PAYLOADS if _may(request, "view_payload") else ("hidden_data",)}),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj = kwargs["obj"]
        may_see = _may(request, "view_payload")
        steps = step_rows(obj, obj._state.db, with_results=may_see)
        context |= {"steps": steps[:MOST], "more_steps": len(steps) > MOST, "may_see_payloads": may_see}
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description="id")
    def workflow_id(self, run: WorkflowStatus) -> SafeString:
        return format_html("<code>{}</code>", run.id)

    @admin.display(description="workflow")
    def function(self, run: WorkflowStatus) -> SafeString | str:
        if run.name in workflows:
            return run.name
        return format_html('{} <span class="durable-quiet">no code here</span>', run.name)

    @admin.display(description="status")
    def state(self, run: WorkflowStatus) -> SafeString:
        return status_chip(run.status)

    @admin.display(description="failed")
    def attempts(self, run: WorkflowStatus) -> str:
        return f"{run.attempt} of {run.max_attempts}"

    @admin.display(description="age", ordering="created_at")
    def age(self, run: Any) -> SafeString | str:
        return moment(run.created_at, length(run.clock - run.created_at))

    @admin.display(description="ran for")
    def duration(self, run: Any) -> str:
        """Of the last execution: until its end, or until now if it runs."""
        end = run.completed_at or (run.clock if run.status in BEGUN else None)
        return length(end - run.started_at if end and run.started_at else None)

    @admin.display(description="executor")
    def executor_id(self, run: WorkflowStatus) -> SafeString:
        return _link("executor", run.executor_id)

    @admin.display(description="parent")
    def parent_id(self, run: WorkflowStatus) -> SafeString:
        return _link("workflowstatus", run.parent_id)

    @admin.display(description="input")
    def given(self, run: WorkflowStatus) -> SafeString | str:
        return _block(run, "input")

    @admin.display(description="output")
    def result(self, run: WorkflowStatus) -> SafeString | str:
        return _block(run, "output")

    @admin.display(description="error")
    def failure(self, run: WorkflowStatus) -> SafeString | str:
        error = Payload.of(run, "error")
        if error is None:
            return NOTHING
        kind, message, traceback = error.failure(run.name)
        return format_html(
            '<strong>{}</strong><pre class="durable-payload">{}</pre><pre class="durable-payload">{}</pre>',
            kind,
            message,
            traceback,
        )

    @admin.display(description="input, output and error")
    def hidden_data(self, run: WorkflowStatus) -> str:
        return HIDDEN


def _may(request: HttpRequest, permission: str) -> bool:
    return bool(request.user.has_perm(f"{WorkflowStatus._meta.app_label}.{permission}"))


def _filled(run: Any, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if getattr(run, name, None) is not None]


def _exactly(name: str) -> Callable[[WorkflowStatus], SafeString | str]:
    """A field of the page: steps begin at thousandths of a second, and so are the instants of runs shown."""

    @admin.display(description=name.replace("_", " "))
    def instant(run: WorkflowStatus) -> SafeString | str:
        return exact(getattr(run, name))

    return instant


def _link(model: str, key: object) -> SafeString:
    url = reverse(f"admin:{WorkflowStatus._meta.app_label}_{model}_change", args=[quote(str(key))])
    return format_html('<a href="{}"><code>{}</code></a>', url, key)


def _block(run: WorkflowStatus, name: str) -> SafeString | str:
    payload = Payload.of(run, name)
    if payload is None:
        return NOTHING
    return format_html('<pre class="durable-payload">{}</pre>', payload.text(run.name, name))
