"""A list that stays quick whatever lies in the table: bounded counts, filters from small sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from django_durable.core.states import LABELS, Status
from django_durable.engine.declared import workflows
from django_durable.models import Queue, database

if TYPE_CHECKING:
    Pages = Paginator[Any]
else:
    Pages = Paginator

MOST_ROWS = 10_000  # that can be paged through; whoever wants another narrows the list
MOST_CHOICES = 100


class BoundedPaginator(Pages):
    """Counts no further than what it can page through, and not at all where one page holds all."""

    @cached_property
    def first(self) -> list[Any]:
        """The rows of the first page, and one more if there are more."""
        rows: Any = self.object_list
        return list(rows[: self.per_page + 1])

    @cached_property
    def counted(self) -> int:
        if len(self.first) <= self.per_page:
            return len(self.first)
        rows: Any = self.object_list
        return int(rows[: MOST_ROWS + 1].count())

    @cached_property
    def count(self) -> int:
        return min(self.counted, MOST_ROWS)

    @property
    def is_capped(self) -> bool:
        return self.counted > MOST_ROWS


class BoundedList(ChangeList):
    """Shows what its paginator has read: what few rows have is looked for in all of them, so only once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        paginator: Any = self.paginator
        if self.page_num == 1 and not (self.show_all and self.can_show_all):
            self.result_list = paginator.first[: self.list_per_page]


class ColumnFilter(admin.SimpleListFilter):
    """Rows whose column has one value; a value that is not among the choices is as good in the address."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        if not database.is_storable(value):
            return queryset.none()
        return queryset.filter((self.parameter_name, value))

    def has_output(self) -> bool:
        return True


# Said beside a status, as the table's constraints have it, these let a small index serve what few rows have;
# the statuses in which runs fail have one of their own.
BESIDE_STATUS = {
    Status.ENQUEUED: Q(line__isnull=False),
    Status.PENDING: Q(executor__isnull=False),
    Status.WAITING: Q(claim_seq__isnull=True) | Q(claim_seq__isnull=False),
}


class StatusFilter(ColumnFilter):
    title = "status"
    parameter_name = "status"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        beside = BESIDE_STATUS.get(self.value(), Q())  # type: ignore[call-overload]
        found: QuerySet[Any] = super().queryset(request, queryset).filter(beside)
        return found

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, label) for status, label in LABELS.items()]


class QueueFilter(ColumnFilter):
    title = "queue"
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = Queue.objects.using(database.alias()).values_list("name", flat=True)[:MOST_CHOICES]
        return [(name, name) for name in names]


class NameFilter(ColumnFilter):
    title = "workflow"
    parameter_name = "name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = sorted(declaration.name for declaration in workflows)[:MOST_CHOICES]
        return [(name, name) for name in names]
