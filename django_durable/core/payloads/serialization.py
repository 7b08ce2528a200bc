"""Values in and out of the payload columns: the door that every serializer stands behind.

`json_serializer` is the default and brings back what went in, with its type: JSON's own types, and by tag
datetime, date, time, timedelta, Decimal, UUID, bytes, bytearray, tuple, set, frozenset, enum members,
dataclass instances, named tuples and what `codecs.register_codec` adds. Values are kept, identities are not:
an object that stands at two places comes back as two. In JSON written by another program, an object with the
key "$" is such a tagged value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from django_durable.core.payloads.classes import type_name
from django_durable.core.payloads.jsontext import decode, encode
from django_durable.core.payloads.jsontree import ROOT, UNREADABLE
from django_durable.exceptions import DurableError, NotSerializable, PayloadTooLarge, PayloadUnreadable

NATIVE = "json"
CALL = {"args", "kwargs"}


class Serializer(Protocol):
    """Turns values into text without NUL or lone surrogates.

    `tag` is stored beside the text and chooses its reader. `where` names the value in errors.
    The arguments of a call are given as `{"args": [...], "kwargs": {...}}`.
    """

    @property
    def tag(self) -> str: ...
    def dumps(self, value: Any, where: str) -> str: ...
    def loads(self, text: str) -> Any: ...


class JsonSerializer:
    tag = NATIVE

    def dumps(self, value: Any, where: str = ROOT) -> str:
        try:
            return encode(value)
        except NotSerializable as refusal:
            raise _placed(refusal, where, ROOT) from refusal.__cause__

    def loads(self, text: str) -> Any:
        return decode(text)


json_serializer = JsonSerializer()


def dumps(value: Any, *, where: str, max_bytes: int, serializer: Serializer = json_serializer) -> str:
    """Raises NotSerializable or PayloadTooLarge, both naming `where`."""
    try:
        text = serializer.dumps(value, where)
    except DurableError:
        raise
    except Exception as error:
        hint = f"serializer {serializer.tag!r} refuses it: {error}"
        raise NotSerializable(where, ROOT, type_name(type(value)), hint) from error
    _check_size(text, where, max_bytes, serializer)
    return text


def loads(text: str, *, serializer: Serializer = json_serializer) -> Any:
    """Raises PayloadUnreadable."""
    try:
        return serializer.loads(text)
    except DurableError:
        raise
    except UNREADABLE as error:
        raise PayloadUnreadable(f"serializer {serializer.tag!r} refuses it: {error}") from error


def dumps_call(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    max_bytes: int,
    serializer: Serializer = json_serializer,
    names: Sequence[str] = (),
) -> str:
    """The arguments of one call; an error names the argument at fault, by `names` where it is positional."""
    call = {"args": list(args), "kwargs": kwargs}
    try:
        return dumps(call, where="the arguments", max_bytes=max_bytes, serializer=serializer)
    except NotSerializable:
        for where, root, value in _arguments(args, kwargs, names):
            _refuse_alone(where, root, value, serializer)
        raise


def loads_call(
    text: str, *, serializer: Serializer = json_serializer
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Raises PayloadUnreadable. Another program may leave out `args` or `kwargs` if they are empty."""
    call = loads(text, serializer=serializer)
    if not isinstance(call, dict) or not call.keys() <= CALL:
        raise PayloadUnreadable('the arguments must be an object with "args" and "kwargs" and nothing else')
    args, kwargs = call.get("args", []), call.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise PayloadUnreadable('"args" must be an array and "kwargs" an object')
    return tuple(args), kwargs


def _arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]
) -> Iterator[tuple[str, str, Any]]:
    for index, value in enumerate(args):
        name = f" ({names[index]!r})" if index < len(names) else ""
        yield f"argument {index + 1}{name}", f"args[{index}]", value
    for key, value in kwargs.items():
        yield f"argument {key!r}", f"kwargs[{key!r}]", value


def _refuse_alone(where: str, root: str, value: Any, serializer: Serializer) -> None:
    try:
        serializer.dumps(value, where)
    except NotSerializable as refusal:
        raise _placed(refusal, where, root) from refusal.__cause__
    except Exception as error:
        hint = f"serializer {serializer.tag!r} refuses it: {error}"
        raise NotSerializable(where, root, type_name(type(value)), hint) from error


def _placed(refusal: NotSerializable, where: str, root: str) -> NotSerializable:
    path = root + refusal.path.removeprefix(ROOT)
    return NotSerializable(where, path, refusal.type_name, refusal.hint)


def _check_size(text: str, where: str, max_bytes: int, serializer: Serializer) -> None:
    if len(text) > max_bytes:
        raise PayloadTooLarge(where, len(text), max_bytes)
    try:
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise _unfit(where, serializer, "lone surrogates") from None
    if size > max_bytes:
        raise PayloadTooLarge(where, size, max_bytes)
    if "\0" in text:
        raise _unfit(where, serializer, "a NUL character")


def _unfit(where: str, serializer: Serializer, what: str) -> NotSerializable:
    hint = f"serializer {serializer.tag!r} wrote {what} for it, which PostgreSQL cannot store"
    return NotSerializable(where, ROOT, "str", hint)
