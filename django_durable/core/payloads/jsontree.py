"""Any storable value as a tree of JSON's own types, and back.

What JSON has no type for becomes `{"$": tag, "v": data}`; a dict that has the key "$" or a key that is no
text becomes such an object too, holding its pairs. The tree is built without recursion, so that depth is a
limit with a message and not a crash.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from django_durable.core.payloads.classes import type_name
from django_durable.core.payloads.codecs import (
    BIG_INT,
    BY_TAG,
    NON_FINITE,
    PAIRS,
    SPLIT_TEXT,
    Codec,
    codec_for,
)
from django_durable.core.payloads.hints import hint_for
from django_durable.core.payloads.records import Record
from django_durable.exceptions import NotSerializable, PayloadUnreadable

MARK = "$"
DATA = "v"
ROOT = "value"
# json's C code recurses once a level, within the interpreter's 1000 frames; half is left to its callers.
MAX_DEPTH = 500
# Shared objects are written at every place they stand, so a small tangle of them could fill any memory. This
# is above what 8 MiB of sensible JSON hold; a container costs as much memory and time as several scalars.
MAX_VALUES = 8_000_000
CONTAINER = 8
# The lowest limit Python lets a process set for the digits of an int, in bits: any other process can read it.
SAFE_BITS = 2_126
# Two escapes side by side are read as one character.
SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
BETWEEN_SURROGATES = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")
SCALARS = frozenset({str, int, float, bool, type(None)})
TOO_MANY = f"it holds more than {MAX_VALUES} values, shared ones counted each time; store them elsewhere"
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Place(NamedTuple):
    """A value, and where it stands: `label` continues the path above, `depth` counts JSON's containers."""

    value: Any
    above: Place | None
    label: str
    depth: int

    @property
    def path(self) -> str:
        return "".join(place.label for place in reversed(self.line()))

    def line(self) -> list[Place]:
        """This place and all above it, innermost first."""
        places: list[Place] = []
        place: Place | None = self
        while place is not None:
            places.append(place)
            place = place.above
        return places

    def refusal(self, hint: str) -> NotSerializable:
        return NotSerializable("", self.path, type_name(type(self.value)), hint)


def to_tree(value: Any) -> Any:
    """Raises NotSerializable with an empty `where`."""
    return _Builder().build(value)


class _Builder:
    """Fills containers from a list of places still to be expanded."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Place, Any, Any]] = []
        self.count = 0

    def build(self, value: Any) -> Any:
        top: list[Any] = [None]
        self._put(top, 0, Place(value, None, ROOT, 1))
        while self.waiting:
            place, holder, key = self.waiting.pop()
            holder[key] = self._expand(place)
        return top[0]

    def _put(self, holder: Any, key: Any, place: Place) -> None:
        if type(place.value) in SCALARS:
            holder[key] = _scalar(place.value)
        else:
            self.waiting.append((place, holder, key))

    def _expand(self, place: Place) -> Any:
        self._check(place)
        value = place.value
        kind = type(value)
        if kind is list:
            return self._list(place, value)
        if kind is dict:
            return self._dict(place, value)
        if kind is Record:
            return self._record(place, value)
        codec = codec_for(kind)
        if codec is None:
            raise place.refusal(hint_for(kind))
        return self._coded(place, codec)

    def _check(self, place: Place) -> None:
        if place.depth > MAX_DEPTH:
            raise _too_deep(place)
        self.count += CONTAINER
        if self.count > MAX_VALUES:
            raise place.refusal(TOO_MANY)

    def _list(self, place: Place, values: list[Any]) -> list[Any]:
        written: list[Any] = [None] * len(values)
        self.count += len(values)
        for index, value in enumerate(values):
            if type(value) in SCALARS:
                written[index] = _scalar(value)
            else:
                self._put(written, index, Place(value, place, f"[{index}]", place.depth + 1))
        return written

    def _dict(self, place: Place, values: dict[Any, Any]) -> dict[str, Any]:
        if MARK in values or not all(type(key) is str and _text(key) is key for key in values):
            return self._pairs(place, values)
        written = dict.fromkeys(values)
        self.count += len(values)
        for key, value in values.items():
            if type(value) in SCALARS:
                written[key] = _scalar(value)
            else:
                self._put(written, key, Place(value, place, f"[{_shown(key)}]", place.depth + 1))
        return written

    def _pairs(self, place: Place, values: dict[Any, Any]) -> dict[str, Any]:
        written = []
        self.count += 2 * len(values)
        for key, value in values.items():
            pair: list[Any] = [None, None]
            written.append(pair)
            self._put(pair, 0, Place(key, place, f".keys()[{len(written) - 1}]", place.depth + 3))
            self._put(pair, 1, Place(value, place, f"[{_shown(key)}]", place.depth + 3))
        return _tagged(PAIRS, written)

    def _record(self, place: Place, record: Record) -> list[Any]:
        values: dict[str, Any] = dict.fromkeys(record.values)
        self.count += len(values)
        for name, value in record.values.items():
            self._put(values, name, Place(value, place, f".{name}", place.depth + 2))
        return [record.path, values]

    def _coded(self, place: Place, codec: Codec) -> dict[str, Any]:
        try:
            data = codec.dump(place.value)
        except (TypeError, ValueError) as error:
            raise place.refusal(str(error)) from error
        written = _tagged(codec, None)
        self._put(written, DATA, Place(data, place, "", place.depth + 1))
        return written


def from_object(written: dict[str, Any]) -> Any:
    """The value that an object of the tree stands for, its members being values already."""
    if MARK not in written:
        return written
    if written.keys() != {MARK, DATA}:
        raise PayloadUnreadable(
            f'an object with the key "{MARK}" must have "{DATA}" beside it and nothing else'
        )
    tag = written[MARK]
    codec = BY_TAG.get(tag) if isinstance(tag, str) else None
    if codec is None:
        raise PayloadUnreadable(f"no type is registered under the tag {tag!r}; is its app in INSTALLED_APPS?")
    try:
        return codec.load(written[DATA])
    except PayloadUnreadable:
        raise
    except UNREADABLE as error:
        raise PayloadUnreadable(f"data under the tag {tag!r}: {_reason(error)}") from error


def tagged_leaf(value: Any) -> dict[str, Any]:
    """A value whose codec writes it without further codecs."""
    codec = codec_for(type(value))
    if codec is None:
        raise TypeError(f"{type_name(type(value))} is not stored")
    return _tagged(codec, codec.dump(value))


def _tagged(codec: Codec, data: Any) -> dict[str, Any]:
    return {MARK: codec.tag, DATA: data}


def _scalar(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is int:
        return value if value.bit_length() <= SAFE_BITS else _tagged(BIG_INT, hex(value))
    if kind is float:
        return value if math.isfinite(value) else _tagged(NON_FINITE, NON_FINITE.dump(value))
    return value


def _text(value: str) -> Any:
    if value.isascii() or not SURROGATE_PAIR.search(value):
        return value
    return _tagged(SPLIT_TEXT, BETWEEN_SURROGATES.split(value))


def _too_deep(place: Place) -> NotSerializable:
    outermost_first = place.line()[::-1]
    seen: dict[int, Place] = {}
    for inner in outermost_first:
        outer = seen.setdefault(id(inner.value), inner)
        if outer is not inner:
            return inner.refusal(f"it is the same object as {outer.path}, so it holds itself")
    return outermost_first[0].refusal(f"it is nested deeper than {MAX_DEPTH} levels")


def _shown(key: object) -> str:
    """A dict's key in a path; only of plain types, whose repr is harmless."""
    if type(key) not in (str, int, float, bool, bytes):
        return f"<{type_name(type(key))}>"
    if type(key) is int and key.bit_length() > SAFE_BITS:
        return "<int>"
    text = ascii(key)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _reason(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
