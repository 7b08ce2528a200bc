"""Columns of values as PostgreSQL writes its arrays.

A driver looks at each element for its type, which takes most of the time of a batch; here the type is known.
"""

from __future__ import annotations

from collections.abc import Iterable


def text_array(values: Iterable[str | None]) -> str:
    """The literal of a text[]."""
    return "{" + ",".join([_NULL if value is None else _quoted(value) for value in values]) + "}"


def plain_array(values: Iterable[object]) -> str:
    """The literal of an array of numbers or UUIDs, which need no quotes."""
    return "{" + ",".join(map(str, values)) + "}"


def nullable_array(values: Iterable[object | None]) -> str:
    """The same where some are missing."""
    return "{" + ",".join([_NULL if value is None else str(value) for value in values]) + "}"


_NULL = "NULL"


def _quoted(value: str) -> str:
    if "\\" in value:
        value = value.replace("\\", "\\\\")
    if '"' in value:
        value = value.replace('"', '\\"')
    return f'"{value}"'
