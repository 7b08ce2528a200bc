"""What a caller may say about one enqueue; every value is checked when it is said."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from django_durable.core.identifiers import check_identifier, check_priority
from django_durable.core.payloads.excerpt import quoted
from django_durable.exceptions import InvalidOption

LONGEST = timedelta(days=36_525)  # a century
MOST_LEVELS = 100  # of attributes within attributes
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON escapes it, and not an escaped backslash before it
# Whatever zone a session has, an instant between these can be read back, and LONGEST added to it.
EARLIEST, LATEST = datetime(1, 1, 3, tzinfo=UTC), datetime(9899, 12, 31, tzinfo=UTC)
CHOICES = {"on_conflict": ("return_existing", "reject"), "on_duplicate": ("reject", "return_existing")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of one enqueue; None means: as the workflow function or the queue has it."""

    id: str | None = None
    queue: str | None = None
    priority: int | None = None
    partition_key: str | None = None
    limit_key: str | None = None
    deduplication_id: str | None = None
    delay: timedelta | float | None = None
    run_at: datetime | None = None
    expires_in: timedelta | float | None = None
    expires_at: datetime | None = None
    timeout: timedelta | float | None = None
    deadline: datetime | None = None
    max_attempts: int | None = None
    app_version: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    on_conflict: Literal["return_existing", "reject"] = "return_existing"
    on_duplicate: Literal["reject", "return_existing"] = "reject"
    inherits_deadline: bool = True  # of the body that starts the run; timeout=None declines it

    def __post_init__(self) -> None:
        self._check_texts()
        if self.priority is not None:
            check_priority(self.priority)
        for name in ("delay", "expires_in", "timeout"):
            object.__setattr__(self, name, duration(name, getattr(self, name)))
        for name in ("run_at", "expires_at", "deadline"):
            object.__setattr__(self, name, _instant(name, getattr(self, name)))
        self._check_pairs()
        self._check_choices()
        _check_attributes(self.attributes)

    def changed(self, **given: Any) -> Options:
        """A copy with these options; an unknown name is refused with the nearest known one."""
        for name in given:
            if name not in NAMES:
                raise InvalidOption(f"unknown option {name!r}{_suggestion(name)}")
        if "timeout" in given:
            given["inherits_deadline"] = given["timeout"] is not None
        return replace(self, **given)

    def _check_texts(self) -> None:
        kinds = {"id": "workflow id", "queue": "queue name", "app_version": "app version"}
        for name in ("id", "queue", "partition_key", "limit_key", "deduplication_id", "app_version"):
            check_identifier(kinds.get(name, name), getattr(self, name), optional=True)

    def _check_pairs(self) -> None:
        for one, other in (("delay", "run_at"), ("expires_in", "expires_at")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InvalidOption(f"{one} and {other} say the same thing twice; give one of them")

    def _check_choices(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InvalidOption(f"{name} must be one of {allowed}; it is {quoted(getattr(self, name))}")
        attempts = self.max_attempts
        if attempts is not None and (type(attempts) is not int or not 1 <= attempts <= 1_000_000):
            raise InvalidOption(
                f"max_attempts must be a whole number from 1 to 1000000; it is {quoted(attempts)}"
            )


NAMES = tuple(f.name for f in fields(Options) if f.name != "inherits_deadline")


def _suggestion(name: str) -> str:
    close = difflib.get_close_matches(name, NAMES, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known options: {', '.join(NAMES)}"


def duration(name: str, value: timedelta | float | None) -> timedelta | None:
    """A length of time that can be stored; raises InvalidOption, which calls it `name`."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, timedelta | int | float):
        raise InvalidOption(f"{name} must be a timedelta or a number of seconds; it is {quoted(value)}")
    try:
        length = value if isinstance(value, timedelta) else timedelta(seconds=value)
    except (OverflowError, ValueError):
        raise InvalidOption(f"{name} must be a finite length of time; it is {quoted(value)}") from None
    if not timedelta(0) <= length <= LONGEST:
        raise InvalidOption(f"{name} must lie between 0 and {LONGEST.days} days; it is {quoted(value)}")
    return length


def given_duration(name: str, value: timedelta | float) -> timedelta:
    """A length of time where there has to be one; raises InvalidOption."""
    length = duration(name, value)
    if length is None:
        raise InvalidOption(f"{name} must be a timedelta or a number of seconds; it is None")
    return length


def _instant(name: str, value: datetime | None) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidOption(f"{name} must be a datetime; it is {quoted(value)}")
    if value.utcoffset() is None:
        raise InvalidOption(
            f"{name} must be an aware datetime, so that it names one instant; {quoted(value)} is naive"
        )
    if not EARLIEST <= value <= LATEST:
        raise InvalidOption(f"{name} must lie between the years 1 and {LATEST.year}; it is {quoted(value)}")
    return value.astimezone(UTC)


def _check_attributes(attributes: object) -> None:
    if not isinstance(attributes, Mapping):
        raise InvalidOption(f"attributes must be a dict; they are {quoted(attributes)}")
    _check_attribute(attributes)
    try:
        text = json.dumps(dict(attributes), allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOption(f"attributes must be plain JSON values: {error}") from None
    if NUL.search(text):
        raise InvalidOption("attributes hold a NUL character, which PostgreSQL cannot store in JSON")


def _check_attribute(value: object, levels: int = MOST_LEVELS) -> None:
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise InvalidOption(f"attributes must have text keys only; one holds {quoted(list(value))}")
        value = list(value.values())
    if isinstance(value, list | tuple):
        if levels == 0:
            raise InvalidOption(f"attributes must not be nested deeper than {MOST_LEVELS} levels")
        for part in value:
            _check_attribute(part, levels - 1)
