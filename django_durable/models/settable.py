"""Rows that people set by their key while workers read them: checked in words, and by the table where words
are passed by."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import IntegrityError, models, transaction
from django.db.models import Q

from django_durable.conf import settings
from django_durable.core.options import LONGEST, duration
from django_durable.core.payloads.excerpt import quoted
from django_durable.exceptions import InvalidLimit, InvalidOption
from django_durable.models import database

if TYPE_CHECKING:
    from typing import Self

MOST = 2**31 - 1  # that the column holds


class Settable(models.Model):
    """A row that people set; workers that hear notices look at once, and not when their interval is over."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        _tell(self._state.db)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        using = kwargs.get("using") or self._state.db
        deleted = super().delete(*args, **kwargs)
        _tell(using)
        return deleted


M = TypeVar("M", bound=Settable)


class SettableQuerySet(models.QuerySet[M]):
    def delete(self) -> tuple[int, dict[str, int]]:
        deleted = super().delete()
        if deleted[0]:
            _tell(self.db)
        return deleted

    delete.queryset_only = True  # type: ignore[attr-defined] # as Django's own: no manager deletes all
    delete.alters_data = True  # type: ignore[attr-defined]

    @property
    def here(self) -> Self:
        """The same rows, in the database that the package uses unless another was asked for."""
        return self if self._db else self.using(database.alias())  # type: ignore[attr-defined]

    def keep(self, key: str, given: Mapping[str, Any]) -> M:
        """Write the columns given to the row of this key, made if need be; the others stay as they are."""
        rows = self.here
        what = f"{self.model._meta.verbose_name} {key!r}"
        values = {name: self._value(what, name, value) for name, value in given.items()}
        try:
            with transaction.atomic(using=rows.db):
                return rows._keep(what, key, values)
        except IntegrityError:
            if not rows.filter(pk=key).exists():
                raise
            return rows._keep(what, key, values)  # somebody made the row meanwhile

    def _keep(self, what: str, key: str, values: Mapping[str, Any]) -> M:
        with transaction.atomic(using=self.db):
            row = self.select_for_update(no_key=True).filter(pk=key).first() or self.model(pk=key)
            for name, value in values.items():
                setattr(row, name, value)
            _check(what, row)
            if row._state.adding:
                row.save(using=self.db, force_insert=True)
            else:
                row.save(using=self.db, update_fields=[*values, *_stamps(self.model)])
        return row

    def _value(self, what: str, name: str, value: Any) -> Any:
        fields = {field.name: field for field in _settable(self.model)}
        if name not in fields:
            close = difflib.get_close_matches(name, fields, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(fields)}"
            raise InvalidLimit(what, f"nothing is called {name!r} here; {hint}")
        try:
            return of_its_kind(name, fields[name], value)
        except InvalidOption as fault:
            raise InvalidLimit(what, str(fault)) from None


def _tell(using: str | None) -> None:
    """At the commit; one notice for all that are sent in a transaction."""
    if settings().notify and using is not None:
        database.fetch("notify", {}, using)


def at_least_one(table: str, *columns: str) -> list[models.CheckConstraint]:
    return [
        models.CheckConstraint(condition=Q(**{f"{column}__gte": 1}), name=f"{table}_{column}_counts")
        for column in columns
    ]


def countable(table: str, column: str) -> models.CheckConstraint:
    """A window that the database can count back by."""
    return models.CheckConstraint(
        condition=Q(**{f"{column}__gt": timedelta(0), f"{column}__lte": LONGEST}),
        name=f"{table}_{column}_ends",
    )


def whole_rate(table: str, limit: str, period: str) -> models.CheckConstraint:
    """Half a rate would be no limit at all, and nobody would notice."""
    return models.CheckConstraint(
        condition=Q(**{f"{limit}__isnull": True, f"{period}__isnull": True})
        | Q(**{f"{limit}__isnull": False, f"{period}__isnull": False}),
        name=f"{table}_whole_{limit}",
    )


def _settable(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    return [field for field in model._meta.concrete_fields if field.editable and not field.primary_key]


def _stamps(model: type[models.Model]) -> list[str]:
    return [field.name for field in model._meta.concrete_fields if getattr(field, "auto_now", False)]


def of_its_kind(name: str, field: models.Field[Any, Any], value: Any) -> Any:
    """The value, as its column holds it; raises InvalidOption, which calls it `name`."""
    if value is None and field.null:
        return None
    if isinstance(field, models.DurationField):
        return duration(name, value)
    if isinstance(field, models.BooleanField):
        fits, words = type(value) is bool, "True or False"
    elif isinstance(field, models.FloatField):
        least, most = _bounds(field)
        fits = type(value) in (int, float) and least <= value <= most
        words = f"a number of seconds from {least:g} to {most:g}"
    else:
        fits, words = type(value) is int and 1 <= value <= MOST, f"a whole number from 1 to {MOST}"
    if not fits:
        raise InvalidOption(f"{name} must be {words}; it is {quoted(value)}")
    return value


def _bounds(field: models.Field[Any, Any]) -> tuple[float, float]:
    """Those that its validators keep."""
    least, most = -sys.float_info.max, sys.float_info.max
    for validator in field.validators:
        if isinstance(validator, MinValueValidator):
            least = validator.limit_value
        elif isinstance(validator, MaxValueValidator):
            most = validator.limit_value
    return least, most


def _check(what: str, row: models.Model) -> None:
    if fault := getattr(row, "why_not_settable", None):
        raise InvalidLimit(what, fault)
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        raise InvalidLimit(what, " ".join(error.messages)) from None
