"""Rows in portions that one statement can take, by their number and by the length of their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

ROWS_A_STATEMENT = 1000
# each may become four of the statement, of which PostgreSQL takes 1 GiB and hangs up on more
CHARACTERS_A_STATEMENT = 4 * 1024 * 1024

T = TypeVar("T")


def portions(rows: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """In order; a row that is larger than a portion may be still ends one. `size` is in characters."""
    portion: list[T] = []
    characters = 0
    for row in rows:
        portion.append(row)
        characters += size(row)
        if len(portion) == ROWS_A_STATEMENT or characters >= CHARACTERS_A_STATEMENT:
            yield portion
            portion, characters = [], 0
    if portion:
        yield portion
