"""Queues: pause them, let them go on, and edit their limits where the code does not own them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin, messages
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from django_durable import control
from django_durable.admin.base import DurableAdmin, log_changes
from django_durable.admin.chips import chip
from django_durable.admin.lengths import LengthField
from django_durable.admin.moments import NOTHING
from django_durable.claim.left_behind import left_behind
from django_durable.claim.preview import Preview, preview
from django_durable.core.durations import in_words
from django_durable.models import DEFAULT_QUEUE, Queue, WorkflowStatus

LIMITS = ("concurrency", "worker_concurrency", ("rate_limit", "rate_period"))
PARTITION_LIMITS = (
    "partition_concurrency",
    "partition_worker_concurrency",
    ("partition_rate_limit", "partition_rate_period"),
)
HABITS = ("fair", "polling_interval", "waiting_holds_slot")
FOUND = ("state", "starts_next", "held_back_by", "left_without_a_worker")
PREVIEW = "_durable_preview"  # kept with the row, which is read anew for each page
MOST_VERSIONS = 5
DECLARED = (
    "This queue is declared in DURABLE['QUEUES']: its limits are set there, and again after each migrate."
)


@admin.action(description="Pause selected queues", permissions=["pause"])
def pause(model_admin: Any, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
    _turn(control.pause, "paused", model_admin, request, queryset.filter(paused_at__isnull=True))


@admin.action(description="Let selected queues go on", permissions=["pause"])
def unpause(model_admin: Any, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
    _turn(control.unpause, "let go on", model_admin, request, queryset.filter(paused_at__isnull=False))


@admin.register(Queue)
class QueueAdmin(DurableAdmin):
    list_display = ["name", "state", "limits", "partition_limits", "order", "owner"]
    search_fields = ["name"]
    formfield_overrides = {
        **DurableAdmin.formfield_overrides,
        models.DurationField: {"form_class": LengthField},
    }
    actions = [pause, unpause]

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(f"{Queue._meta.app_label}.pause_queue"))

    def has_change_permission(self, request: HttpRequest, obj: Queue | None = None) -> bool:
        return not (obj is not None and obj.code_owned) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Queue | None = None) -> bool:
        kept = obj is not None and (obj.code_owned or obj.name == DEFAULT_QUEUE)
        return not kept and super().has_delete_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """A queue with workflows that have not ended is protected by them: they would wait for ever."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        for queue in objs:
            protected = [*protected, *_reasons_to_keep(queue)]
        return deleted, counts, lacking, protected

    def get_fieldsets(self, request: HttpRequest, obj: Queue | None = None) -> Any:
        declared = obj is not None and obj.code_owned
        return [
            (
                None,
                {
                    "fields": ["name", *FOUND] if obj else ["name"],
                    "description": DECLARED if declared else "",
                },
            ),
            ("Limits", {"fields": LIMITS, "description": "Empty: no limit."}),
            ("Limits of each partition key", {"fields": PARTITION_LIMITS}),
            ("Habits", {"fields": HABITS}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Queue | None = None) -> Any:
        return () if obj is None else ("name", *FOUND)

    def save_model(self, request: HttpRequest, obj: Queue, form: Any, change: bool) -> None:
        """Write only what was edited: a pause that came meanwhile stays."""
        obj.save(using=self.using, update_fields=[*form.changed_data, "updated_at"] if change else None)

    @admin.display(description="state")
    def state(self, queue: Queue) -> SafeString:
        return chip("Open", "good") if queue.paused_at is None else chip("Paused", "busy")

    @admin.display(description="starts next")
    def starts_next(self, queue: Queue) -> str:
        found = self._look(queue)
        return (found.first if found else None) or NOTHING

    @admin.display(description="held back by")
    def held_back_by(self, queue: Queue) -> str:
        """What keeps the head of the line, or rows behind it, from being started at this moment."""
        if queue.paused_at is not None:
            return "the pause"
        found = self._look(queue)
        return (found.stopped_by.in_words if found else "") or NOTHING

    @admin.display(description="left without a worker")
    def left_without_a_worker(self, queue: Queue) -> str:
        """Runs that wait, and keep their places in the limits until a worker of their version comes."""
        found = left_behind(queue.name, self.using).most_common()
        told = [f"{count} waiting of version {version}" for version, count in found[:MOST_VERSIONS]]
        more = len(found) - MOST_VERSIONS
        return ", ".join(told + ([f"and {more} versions more"] if more > 0 else [])) or NOTHING

    def _look(self, queue: Queue) -> Preview | None:
        """One for all fields of a page: each reads and plans as a claim does."""
        known = vars(queue)
        if PREVIEW not in known:
            known[PREVIEW] = preview(queue.name, self.using)
        found: Preview | None = known[PREVIEW]
        return found

    @admin.display(description="limits")
    def limits(self, queue: Queue) -> str:
        return _in_words(queue.concurrency, queue.worker_concurrency, (queue.rate_limit, queue.rate_period))

    @admin.display(description="limits of each partition")
    def partition_limits(self, queue: Queue) -> str:
        return _in_words(
            queue.partition_concurrency,
            queue.partition_worker_concurrency,
            (queue.partition_rate_limit, queue.partition_rate_period),
        )

    @admin.display(description="order")
    def order(self, queue: Queue) -> str:
        return "in turns" if queue.fair else "in line"

    @admin.display(description="owner")
    def owner(self, queue: Queue) -> str:
        return "settings" if queue.code_owned else "admin"


def _turn(
    verb: Callable[[Iterable[str]], int],
    done: str,
    model_admin: Any,
    request: HttpRequest,
    queues: QuerySet[Queue],
) -> None:
    turned = list(queues)
    count = verb([queue.name for queue in turned])
    log_changes(request, turned, done)
    level = messages.SUCCESS if count else messages.WARNING
    model_admin.message_user(request, f"{count} queue{'' if count == 1 else 's'} {done}.", level)


def _reasons_to_keep(queue: Queue) -> list[str]:
    if queue.code_owned:
        return [f"Queue {queue.name}: it is declared in DURABLE['QUEUES']"]
    if queue.name == DEFAULT_QUEUE:
        return [f"Queue {queue.name}: workflows go there unless they name another"]
    if WorkflowStatus.objects.using(queue._state.db).active().filter(queue=queue.name).exists():
        return [f"Queue {queue.name}: it has workflows that have not ended"]
    return []


def _in_words(fleet: int | None, worker: int | None, rate: tuple[int | None, Any]) -> str:
    words = []
    if fleet is not None:
        words.append(f"{fleet} at once")
    if worker is not None:
        words.append(f"{worker} a worker")
    if rate[0] is not None:
        words.append(f"{rate[0]} in {in_words(rate[1])}")
    return ", ".join(words) or "none"
