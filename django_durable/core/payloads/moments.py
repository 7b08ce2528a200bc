"""Dates, times and lengths of time as JSON values, to the microsecond, with zone and fold."""

from __future__ import annotations

from datetime import datetime, time, timedelta, timezone, tzinfo
from typing import TypeVar
from zoneinfo import ZoneInfo

Moment = TypeVar("Moment", datetime, time)
Written = str | dict[str, str | int]


def dump_moment(moment: datetime | time) -> Written:
    """ISO 8601; with a named zone or the later half of a repeated hour, a dict that adds them."""
    added = _dump_zone(moment.tzinfo)
    if moment.fold:
        added["fold"] = moment.fold
    return {"iso": moment.isoformat(), **added} if added else moment.isoformat()


def load_datetime(data: Written) -> datetime:
    return datetime.fromisoformat(data) if isinstance(data, str) else _load(datetime, data)


def load_time(data: Written) -> time:
    return time.fromisoformat(data) if isinstance(data, str) else _load(time, data)


def dump_timedelta(length: timedelta) -> list[int]:
    return [length.days, length.seconds, length.microseconds]


def load_timedelta(data: list[int]) -> timedelta:
    days, seconds, microseconds = data
    return timedelta(days, seconds, microseconds)


def _dump_zone(zone: tzinfo | None) -> dict[str, str | int]:
    if zone is None:
        return {}
    if type(zone) is timezone:
        return _dump_fixed_zone(zone)
    if type(zone) is ZoneInfo and zone.key:
        return {"zone": zone.key}
    raise ValueError("its zone is neither a fixed offset nor a named zoneinfo.ZoneInfo; convert it to one")


def _dump_fixed_zone(zone: timezone) -> dict[str, str | int]:
    """Nothing, if the offset in the ISO text says it all; Python reads that text to whole seconds only."""
    offset = zone.utcoffset(None)
    name, usual = zone.tzname(None), timezone(offset).tzname(None)
    written: dict[str, str | int] = {"offset": offset // timedelta(microseconds=1)}
    if name != usual:
        return {**written, "name": name}
    return written if offset.microseconds else {}


def _load(kind: type[Moment], data: dict[str, str | int]) -> Moment:
    written = kind.fromisoformat(str(data["iso"]))
    zone: tzinfo | None = written.tzinfo
    if "zone" in data:
        zone = ZoneInfo(str(data["zone"]))  # the clock reading is what is kept, not the offset of its day
    elif "offset" in data:
        offset = timedelta(microseconds=int(data["offset"]))
        zone = timezone(offset, str(data["name"])) if "name" in data else timezone(offset)
    return written.replace(tzinfo=zone, fold=int(data.get("fold", 0)))
