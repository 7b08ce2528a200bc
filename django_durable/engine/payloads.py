"""Values in and out of the rows, by the serializer that each row names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from django_durable.conf import settings
from django_durable.core.payloads import failures, serialization
from django_durable.core.payloads.serialization import Serializer, json_serializer
from django_durable.exceptions import UnknownSerialization


def own() -> Serializer:
    """The serializer that new rows are written with."""
    return _imported(settings().serializer)


def by_tag(tag: str) -> Serializer:
    """The serializer that a row was written with; raises UnknownSerialization, which leaves the row alone."""
    known = {json_serializer.tag: json_serializer, own().tag: own()}
    try:
        return known[tag]
    except KeyError:
        raise UnknownSerialization(tag, sorted(known)) from None


def encode_call(args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str] = ()) -> str:
    """The arguments of a run; an error names the one at fault, by `names` where it is positional."""
    return serialization.dumps_call(
        args, kwargs, names=names, serializer=own(), max_bytes=settings().max_payload
    )


def decode_call(text: str, tag: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return serialization.loads_call(text, serializer=by_tag(tag))


def encode(value: Any, where: str, tag: str) -> str:
    return serialization.dumps(value, where=where, serializer=by_tag(tag), max_bytes=settings().max_payload)


def decode(text: str, tag: str) -> Any:
    return serialization.loads(text, serializer=by_tag(tag))


encode_error = failures.describe
decode_error = failures.restore


@lru_cache(maxsize=8)
def _imported(path: str) -> Serializer:
    try:
        found: Serializer = import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(f"DURABLE['SERIALIZER'] cannot be imported: {error}") from error
    missing = [name for name in ("tag", "dumps", "loads") if not hasattr(found, name)]
    if missing:
        raise ImproperlyConfigured(
            f"DURABLE['SERIALIZER'] is {path!r}, which lacks {', '.join(missing)}; "
            "it has to name an object like django_durable.core.payloads.serialization.json_serializer"
        )
    return found
