"""Rows as aligned columns of text, whatever is in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

GAP = "  "


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines, the heads first. Numbers stand at the right; None is a dash."""
    given = [list(row) for row in rows]
    cells = [[printable(head) for head in heads], *[[_text(value) for value in row] for row in given]]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    numeric = [
        all(value is None or type(value) in (int, float) for value in column)
        for column in zip(*given, strict=True)
    ] or [False] * len(heads)
    return [_line(line, widths, numeric) for line in cells]


def printable(text: str) -> str:
    """What could move a terminal's cursor, or be seen as nothing, written as an escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _text(value: object) -> str:
    return "-" if value is None else printable(str(value))


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = []
    for cell, width, is_number in zip(cells, widths, numeric, strict=True):
        space = " " * (width - _width(cell))
        padded.append(space + cell if is_number else cell + space)
    return GAP.join(padded).rstrip()


def _width(text: str) -> int:
    """Columns in a terminal: some letters take two, some none."""
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
