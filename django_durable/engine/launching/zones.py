"""Time zones as plain JSON: by their names, and mere offsets by their length and what they are called."""

from __future__ import annotations

import logging
from datetime import timedelta, tzinfo
from datetime import timezone as fixed
from typing import Any
from zoneinfo import ZoneInfo

from django_durable.core.payloads.excerpt import quoted
from django_durable.engine.execution.context import workflow_id

UNKNOWN = (
    "the time zone %s, in which workflow %r was enqueued, is not known here, so its body runs in the default "
    "one; install the zones that the rest of the fleet has, as by the package tzdata"
)

logger = logging.getLogger("django_durable.surroundings")


def told(zone: tzinfo) -> Any:
    """What `found` makes the zone of again."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)  # as zoneinfo and pytz call it
    if name is not None:
        return name
    offset = zone.utcoffset(None)
    if offset is None:
        return zone.tzname(None) or str(zone)
    return {"offset": offset.total_seconds(), "name": zone.tzname(None) or ""}


def found(given: Any) -> tzinfo | None:
    """The zone that was told; None, after a warning, for one that this machine does not know."""
    if given is None:
        return None
    try:
        return _fixed(**given) if isinstance(given, dict) else ZoneInfo(given)
    except (LookupError, OSError, TypeError, ValueError):
        logger.warning(UNKNOWN, quoted(given), workflow_id(), extra={"event": "unknown_zone"})
        return None


def _fixed(offset: float, name: str) -> tzinfo:
    length = timedelta(seconds=offset)
    return fixed(length, name) if name else fixed(length)
