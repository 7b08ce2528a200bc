"""Lengths of time as people write and read them: `90s`, `1m`, `1h30m`; "1 h 30 min"."""

from __future__ import annotations

import re
from datetime import timedelta

from django_durable.core.options import LONGEST
from django_durable.core.payloads.excerpt import quoted
from django_durable.exceptions import InvalidOption

UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
LARGEST_FIRST = (("d", UNITS["d"]), ("h", UNITS["h"]), ("min", UNITS["min"]))
PART = re.compile(r"(\d{1,8}(?:\.\d{1,6})?)\s*([a-z]*)\s*", re.ASCII)


def read(text: str) -> timedelta:
    """The length that a text says; a bare number is seconds. Raises InvalidOption with examples."""
    length, at = timedelta(0), 0
    said = text.strip().lower()
    while part := PART.match(said, at):
        unit = UNITS.get(part[2] or "s")
        if unit is None:
            break
        at = part.end()
        length = min(length + unit * float(part[1]), LONGEST * 2)  # a sum that can be held
    if not said or at < len(said):
        raise InvalidOption(f"{quoted(text)} is no length of time; write 30s, 1m, 1h30m or 1d")
    return length


def in_words(length: timedelta) -> str:
    """The whole of it, the largest unit first: `1 h 30 min`, `1.5 s`, `250 ms`."""
    if timedelta(0) < length < UNITS["s"]:
        return f"{length / UNITS['ms']:g} ms"
    parts, left = [], length
    for name, unit in LARGEST_FIRST:
        count, left = divmod(left, unit)
        if count:
            parts.append(f"{count} {name}")
    if left or not parts:
        parts.append(f"{left.total_seconds():.6f}".rstrip("0").rstrip(".") + " s")
    return " ".join(parts)
