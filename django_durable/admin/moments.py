"""Instants and lengths of time as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import is_aware, localtime

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
NOTHING = "-"  # as the admin shows an empty value


def length(span: timedelta | None) -> str:
    """Its two largest units; below a minute with a fraction. A clock that was set back shows as no time."""
    if span is None:
        return NOTHING
    seconds = max(span.total_seconds(), 0.0)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return " ".join(part for part in _parts(int(seconds))[:2] if not part.startswith("0 "))


def moment(instant: datetime | None, shown: str = "") -> SafeString | str:
    """The instant in the reader's zone, or `shown` with the instant behind it."""
    if instant is None:
        return NOTHING
    local = localtime(instant) if is_aware(instant) else instant
    full = date_format(local, "DATETIME_FORMAT")
    return format_html('<time datetime="{}" title="{}">{}</time>', local.isoformat(), full, shown or full)


def second(instant: datetime) -> SafeString | str:
    """The time of day with its thousandths, the whole instant behind it."""
    return moment(instant, _time_of_day(instant))


def exact(instant: datetime) -> SafeString | str:
    """The day as the language has it, and the time of day with its thousandths."""
    local = localtime(instant) if is_aware(instant) else instant
    return moment(instant, f"{date_format(local, 'DATE_FORMAT')}, {_time_of_day(instant)}")


def _time_of_day(instant: datetime) -> str:
    local = localtime(instant) if is_aware(instant) else instant
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"


def _parts(seconds: int) -> list[str]:
    parts: list[str] = []
    for size, unit in UNITS:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return parts
