"""Values as JSON text that PostgreSQL can store in a text column, and back exactly.

Plain values go through json's C encoder as they are, after a walk that proves them plain; everything else,
and what the encoder refuses, is first made a tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from django_durable.core.payloads.codecs import LEAVES
from django_durable.core.payloads.jsontree import (
    CONTAINER,
    MARK,
    MAX_DEPTH,
    MAX_VALUES,
    ROOT,
    SCALARS,
    SURROGATE_PAIR,
    TOO_MANY,
    from_object,
    tagged_leaf,
    to_tree,
)
from django_durable.exceptions import NotSerializable, PayloadUnreadable

TEXT = frozenset({str})
SINGLE = SCALARS | {codec.type for codec in LEAVES}
SURROGATE = re.compile("[\ud800-\udfff]")
MARKS = (f'"{MARK}"', f"\\u{ord(MARK):04x}")  # as this package writes it, and as another program might

# No circle reaches the encoder: the walk and the tree are bounded in depth.
ENCODER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"), default=tagged_leaf
)


def encode(value: Any) -> str:
    """Raises NotSerializable with an empty `where`."""
    text = _encode_plain(value) if _is_plain(value) else None
    return text if text is not None else storable(_encode_tree(value))


def decode(text: str) -> Any:
    """Raises PayloadUnreadable."""
    hook = from_object if any(mark in text for mark in MARKS) else None
    try:
        return json.loads(text, object_hook=hook)
    except PayloadUnreadable:
        raise
    except RecursionError as error:
        raise PayloadUnreadable("its JSON is nested too deeply") from error
    except ValueError as error:
        raise PayloadUnreadable(f"its text is not JSON: {error}") from error


def storable(text: str) -> str:
    """JSON text with its lone surrogates escaped, so that it can be encoded as UTF-8."""
    return text if text.isascii() else SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _encode_plain(value: Any) -> str | None:
    try:
        text = ENCODER.encode(value)
    except (RuntimeError, TypeError, ValueError):  # NaN, more digits than allowed, a zone that is not stored…
        return None
    if text.isascii():
        return text
    try:
        text.encode("utf-8")  # far quicker than a search
    except UnicodeEncodeError:
        return None if SURROGATE_PAIR.search(text) else storable(text)
    return text


def _encode_tree(value: Any) -> str:
    tree = to_tree(value)
    try:
        return ENCODER.encode(tree)
    except RecursionError:
        raise NotSerializable(
            "", ROOT, type(value).__name__, "it is nested too deeply for the stack left"
        ) from None


def _is_plain(value: Any) -> bool:
    """Whether JSON keeps every value below as it is; judged by exact types, a level at a time."""
    if type(value) in SINGLE:
        return True
    level, seen = [value], 0
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for container in level:
            members: Iterable[Any]
            if type(container) is list:
                members = container
            elif type(container) is dict and MARK not in container and TEXT.issuperset(map(type, container)):
                members = container.values()
            else:
                return False
            seen += len(container) + CONTAINER
            if seen > MAX_VALUES:
                raise NotSerializable("", ROOT, type(value).__name__, TOO_MANY)
            if not SINGLE.issuperset(map(type, members)):
                below += [member for member in members if type(member) not in SINGLE]
        if not below:
            return True
        level = below
    return False
