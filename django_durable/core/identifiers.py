"""Ids, keys and names: refused at every door if they could not be stored, or be told apart, as they are.

Nothing is normalised: names that differ in case or in Unicode form are two names.
"""

from __future__ import annotations

import unicodedata
from enum import Enum
from typing import Literal, overload

from django_durable.exceptions import InvalidIdentifier

# A btree entry ends at 2,704 bytes; an index may hold three such columns and still stay far below.
MAX_BYTES = 255
PRIORITIES = range(-100, 101)
INVISIBLE = {"Cc", "Cf", "Zs", "Zl", "Zp"}
# Letters, symbols and marks by category, and blank all the same: Hangul fillers, the empty Braille cell,
# inherent vowels of Khmer, the joiner of graphemes, and what selects a variant of the character before it.
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\u17b4\u17b5\u034f\u180b\u180c\u180d\u180f").union(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
BREAKING = {"Cc": "a control character", "Zl": "a line separator", "Zp": "a paragraph separator"}


@overload
def check_identifier(
    kind: str, value: object, *, max_bytes: int = ..., optional: Literal[False] = ...
) -> str: ...
@overload
def check_identifier(kind: str, value: object, *, max_bytes: int = ..., optional: bool) -> str | None: ...
def check_identifier(
    kind: str, value: object, *, max_bytes: int = MAX_BYTES, optional: bool = False
) -> str | None:
    """The value itself; raises InvalidIdentifier, which names the kind, the fault and what to do."""
    if value is None and optional:
        return None
    if type(value) is not str:
        raise InvalidIdentifier(kind, _not_a_text(value))
    for fault in (_emptiness, _breaking_character, _outer_space):
        if reason := fault(value):
            raise InvalidIdentifier(kind, reason)
    size = len(value.encode("utf-8"))
    if size > max_bytes:
        raise InvalidIdentifier(
            kind, f"takes {size} bytes in UTF-8, and {max_bytes} is the limit; shorten it or use a hash of it"
        )
    return value


def check_priority(value: object) -> int:
    """A whole number from -100 to 100, the higher the sooner; raises InvalidIdentifier."""
    if type(value) is not int:
        raise InvalidIdentifier("priority", f"must be a whole number; it is of type {type(value).__name__}")
    if value not in PRIORITIES:
        shown = value if abs(value) < 10**20 else "far outside"
        raise InvalidIdentifier(
            "priority", f"must lie between {PRIORITIES[0]} and {PRIORITIES[-1]}; it is {shown}"
        )
    return value


def _not_a_text(value: object) -> str:
    if isinstance(value, str):
        what = ".value" if isinstance(value, Enum) else "str(value)"
        return f"must be a plain text; it is of type {type(value).__name__}, pass {what}"
    if value is None:
        return "must be a text; it is None"
    return f"must be a text; it is of type {type(value).__name__}, pass str(value) if that is the name meant"


def _emptiness(value: str) -> str:
    if not value:
        return "must not be empty"
    if all(unicodedata.category(character) in INVISIBLE or character in BLANK for character in value):
        return f"must hold something visible; it is {_shown(value)}"
    return ""


def _breaking_character(value: str) -> str:
    if value.isprintable():
        return ""
    for index, character in enumerate(value):
        category = unicodedata.category(character)
        if category == "Cs":
            return f"holds half a character at position {index}, which UTF-8 cannot hold: {_shown(value)}"
        if category in BREAKING:
            return f"holds {BREAKING[category]} at position {index}: {_shown(value)}; leave it out"
    return ""


def _outer_space(value: str) -> str:
    if value[0].isspace() or value[-1].isspace():
        return (
            f"must not begin or end with white space, which forms and shells cut off; it is {_shown(value)}"
        )
    return ""


def _shown(value: str) -> str:
    text = ascii(value[:40])
    return text if len(value) <= 40 else f"{text}…"
