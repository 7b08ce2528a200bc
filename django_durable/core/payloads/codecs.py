"""Which types are stored beside JSON's own, each under its tag.

A subclass of a stored type is refused, never flattened: it would come back as another type. Enum members,
dataclass instances and named tuples are stored by their class. `register_codec` adds a type and its
subclasses.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from django_durable.core.payloads import moments, records
from django_durable.core.payloads.classes import path_of
from django_durable.exceptions import InvalidOption


class Codec(NamedTuple):
    tag: str
    type: type
    dump: Callable[[Any], Any]
    load: Callable[[Any], Any]


def register_codec(tag: str, type: type, dump: Callable[[Any], Any], load: Callable[[Any], Any]) -> None:
    """Store values of `type` and of its subclasses under `tag`.

    `dump` returns what the package stores already, and may raise ValueError or TypeError whose message says
    what to pass instead; it does not touch the database. `load` gets the same data back.
    """
    codec = Codec(tag, type, dump, load)
    known = BY_TAG.get(tag)
    if known is not None and known != codec:
        raise InvalidOption(f"the tag {tag!r} already stands for {known.type.__qualname__}; choose another")
    if type in FAMILIES and FAMILIES[type].tag != tag:
        raise InvalidOption(f"{type.__qualname__} is already stored as {FAMILIES[type].tag!r}")
    if type in EXACT:
        raise InvalidOption(f"{type.__qualname__} is stored by the package itself")
    BY_TAG[tag] = FAMILIES[type] = codec


def codec_for(kind: type) -> Codec | None:
    """None for JSON's own types and for what cannot be stored."""
    return EXACT.get(kind) or _family(kind) or _by_shape(kind)


def _family(kind: type) -> Codec | None:
    return next((FAMILIES[base] for base in kind.__mro__ if base in FAMILIES), None) if FAMILIES else None


def _by_shape(kind: type) -> Codec | None:
    if path_of(kind) in STAND_INS:
        return EXACT[STAND_INS[path_of(kind)]]
    if issubclass(kind, Enum):
        return ENUM
    if records.is_dataclass(kind):
        return DATACLASS
    return NAMEDTUPLE if records.is_namedtuple(kind) else None


def _dump_bytes(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _load_bytes(data: str) -> bytes:
    return base64.b64decode(data, validate=True)


def _load_bytearray(data: str) -> bytearray:
    return bytearray(_load_bytes(data))


def _dump_non_finite(value: float) -> str:
    return "-nan" if math.isnan(value) and math.copysign(1, value) < 0 else repr(value)


def _load_hexadecimal(data: str) -> int:
    return int(data, 16)


# Leaves: what they are written as holds no value that would need a codec in turn.
LEAVES = (
    Codec("datetime", datetime, moments.dump_moment, moments.load_datetime),
    Codec("date", date, date.isoformat, date.fromisoformat),
    Codec("time", time, moments.dump_moment, moments.load_time),
    Codec("timedelta", timedelta, moments.dump_timedelta, moments.load_timedelta),
    Codec("decimal", Decimal, str, Decimal),  # NaN, sNaN and infinities included, as with float
    Codec("uuid", UUID, str, UUID),
    Codec("bytes", bytes, _dump_bytes, _load_bytes),
    Codec("bytearray", bytearray, _dump_bytes, _load_bytearray),
)
COLLECTIONS = (
    Codec("tuple", tuple, list, tuple),
    Codec("set", set, list, set),
    Codec("frozenset", frozenset, list, frozenset),
)
# JSON's own types where JSON itself would change or refuse the value.
BIG_INT = Codec("int", int, hex, _load_hexadecimal)
NON_FINITE = Codec("float", float, _dump_non_finite, float)
SPLIT_TEXT = Codec("str", str, list, "".join)
PAIRS = Codec("dict", dict, list, dict)
ENUM = Codec("enum", Enum, records.dump_enum, records.load_enum)
DATACLASS = Codec("dataclass", object, records.dump_dataclass, records.load_dataclass)
NAMEDTUPLE = Codec("namedtuple", tuple, records.dump_namedtuple, records.load_namedtuple)

# What a test that holds the clock still makes in their place; read back as what they stand for.
STAND_INS = {"freezegun.api:FakeDatetime": datetime, "freezegun.api:FakeDate": date}
EXACT: dict[type, Codec] = {codec.type: codec for codec in (*LEAVES, *COLLECTIONS)}
FAMILIES: dict[type, Codec] = {}
BY_TAG: dict[str, Codec] = {
    codec.tag: codec
    for codec in (
        *EXACT.values(),
        *(BIG_INT, NON_FINITE, SPLIT_TEXT, PAIRS),
        *(ENUM, DATACLASS, NAMEDTUPLE),
    )
}
