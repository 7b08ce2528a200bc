"""Values of Django's that travel in payloads: model instances as references, and its kinds of text.

An instance is stored as its model's label, its key and its database, and comes back as a `Reference`, which
fetches the row as it is by then: when it is first looked at, or, for code on an event loop, when it is read.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from django.apps import apps
from django.db import models
from django.utils.functional import Promise, SimpleLazyObject, empty
from django.utils.safestring import SafeString, mark_safe

from django_durable.core.payloads import late
from django_durable.core.payloads.codecs import register_codec
from django_durable.exceptions import ReferenceLost

if TYPE_CHECKING:
    Lazy = SimpleLazyObject[models.Model]
else:
    Lazy = SimpleLazyObject


class Reference(Lazy):
    """A row of the project, fetched at first use; raises ReferenceLost there if it was deleted meanwhile."""

    def __init__(self, label: str, key: Any, using: str) -> None:
        super().__init__(lambda: _fetch(label, key, using))
        self.__dict__["_reference"] = (label, key, using)

    def look_up(self) -> None:
        """A row that is not there is missed at the first use all the same."""
        try:
            self._setup()
        except ReferenceLost as lost:
            self.__dict__["_setupfunc"] = partial(_miss, lost)


def register() -> None:
    """Teach the package's serializer these types; may be called again."""
    register_codec("model", models.Model, _dump_instance, _load_reference)
    register_codec("model.lazy", SimpleLazyObject, _dump_lazy, _load_reference)
    register_codec("text.safe", SafeString, str.__str__, mark_safe)
    register_codec("text.lazy", Promise, str, str)  # in the language that is active when it is stored


def _dump_instance(instance: models.Model) -> list[Any]:
    label = instance._meta.label
    if instance.pk is None or instance._state.adding:
        raise ValueError(f"save this {label} first: it travels as a reference to its row")
    return [label, instance.pk, instance._state.db or "default"]


def _dump_lazy(value: Lazy) -> list[Any]:
    reference: list[Any] | None = value.__dict__.get("_reference")
    if reference is not None and value.__dict__.get("_wrapped", empty) is empty:
        return list(reference)
    whole = value.__reduce__()[1][0]
    if not isinstance(whole, models.Model):
        raise TypeError("pass what the lazy object stands for")
    return _dump_instance(whole)


def _load_reference(stored: list[Any]) -> Reference:
    reference = Reference(*stored)
    late.made(reference.look_up)
    return reference


def _miss(lost: ReferenceLost) -> NoReturn:
    raise lost


def _fetch(label: str, key: Any, using: str) -> models.Model:
    try:
        found: models.Model = apps.get_model(label)._base_manager.using(using).get(pk=key)
    except (LookupError, models.ObjectDoesNotExist) as missing:
        raise ReferenceLost(label, key) from missing
    return found
