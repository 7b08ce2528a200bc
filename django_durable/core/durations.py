"""Lengths of time as people write and read them: `90s`, `1m`, `1h30m`; "1 h 30 min"."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

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
MICROSECOND = timedelta(microseconds=1)
NUMBER = r"(\d+)(?:\.(\d+))?"
PART = re.compile(rf"{NUMBER}\s*([a-z]*)", re.ASCII)
LENGTH = re.compile(rf"{NUMBER}|(?:{NUMBER}\s*(?:{'|'.join(UNITS)})\s*)+", re.ASCII)
MOST_DIGITS = 20  # on either side of the point: no length has as many, in whatever unit


def read(text: str) -> timedelta:
    """The length that a text says, to the microsecond; one bare number is seconds. Raises InvalidOption."""
    if not is_written_as_length(text):
        raise InvalidOption(f"{quoted(text)} is no length of time; write 30s, 1m, 1h30m or 1d")
    microseconds = Fraction(0)
    for whole, fraction, unit in PART.findall(_said(text)):
        whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
        if len(whole) > MOST_DIGITS:
            raise _too_long(text)
        if len(fraction) > MOST_DIGITS:
            raise _too_fine(text)
        microseconds += Fraction(f"0{whole}.{fraction}0") * (UNITS[unit or "s"] // MICROSECOND)
    if microseconds > LONGEST // MICROSECOND:
        raise _too_long(text)
    if microseconds.denominator != 1:
        raise _too_fine(text)
    return int(microseconds) * MICROSECOND


def is_written_as_length(text: str) -> bool:
    """Whether it is numbers with units, or one number; it may still be too long or too fine to read."""
    return LENGTH.fullmatch(_said(text)) is not None


def _said(text: str) -> str:
    return text.strip().lower()


def _too_long(text: str) -> InvalidOption:
    return InvalidOption(f"{quoted(text)} is too long; a length of time is {LONGEST.days} days at most")


def _too_fine(text: str) -> InvalidOption:
    return InvalidOption(f"{quoted(text)} is no whole number of microseconds; nothing finer is counted")


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
