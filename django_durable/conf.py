"""The project's `DURABLE` setting as one frozen, validated value; the only reader of django.conf for it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

CHOICES = {"cursors": ("auto", "always", "never"), "tail": ("snapshot", "sequence")}
HEARTBEATS_PER_LEASE = 3
# each character may become four of a statement, and PostgreSQL takes 1 GiB
LARGEST_PAYLOAD = 128 * 1024 * 1024
LONGEST = 100 * 365 * 86_400.0  # a century, which PostgreSQL can add to any instant
# those of core.states, which is a layer above
FINAL_STATUSES = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Durations are seconds, sizes are bytes."""

    database: str | None = None
    listen_database: str | None = None
    app_version: str | None = None
    queues: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lease: float = 30.0
    suspend_after: float = 2.0
    poll_interval: float = 1.0
    notify: bool = True
    cursors: str = "auto"
    tail: str = "snapshot"
    full_discovery_interval: float = 10.0
    max_recovery_attempts: int = 100
    retention: Mapping[str, float | None] = field(default_factory=dict)
    max_payload: int = 8 * 1024 * 1024
    serializer: str = "django_durable.core.payloads.serialization.json_serializer"
    context: tuple[str, ...] = ()
    redact: str | None = None

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise ImproperlyConfigured(problem)

    @property
    def heartbeat_interval(self) -> float:
        return self.lease / HEARTBEATS_PER_LEASE

    def _problems(self) -> list[str]:
        return [
            *self._bad_durations(),
            *self._bad_choices(),
            *self._bad_texts(),
            *self._bad_retention(),
        ]

    def _bad_durations(self) -> list[str]:
        lowest = {"lease": 1.0, "poll_interval": 0.01, "suspend_after": 0.0, "full_discovery_interval": 0.0}
        return [
            f"DURABLE['{name.upper()}'] must be a number of seconds, at least {least:g}; it is {value!r}"
            for name, least in lowest.items()
            if not _is_seconds(value := getattr(self, name), least)
        ]

    def _bad_choices(self) -> list[str]:
        problems = [
            f"DURABLE['{name.upper()}'] must be one of {allowed}; it is {getattr(self, name)!r}"
            for name, allowed in CHOICES.items()
            if getattr(self, name) not in allowed
        ]
        for name in ("max_payload", "max_recovery_attempts"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                problems.append(f"DURABLE['{name.upper()}'] must be a whole number above 0; it is {value!r}")
            elif name == "max_payload" and value > LARGEST_PAYLOAD:
                problems.append(f"DURABLE['MAX_PAYLOAD'] must be at most {LARGEST_PAYLOAD}; it is {value!r}")
        if not isinstance(self.notify, bool):
            problems.append(f"DURABLE['NOTIFY'] must be True or False; it is {self.notify!r}")
        return problems

    def _bad_texts(self) -> list[str]:
        problems = []
        for name in ("database", "listen_database", "app_version", "redact"):
            value = getattr(self, name)
            if value is not None and not _is_text(value):
                problems.append(f"DURABLE['{name.upper()}'] must be None or a text; it is {value!r}")
        if not _is_text(self.serializer):
            problems.append(f"DURABLE['SERIALIZER'] must be a dotted path; it is {self.serializer!r}")
        if not isinstance(self.context, list | tuple) or not all(map(_is_text, self.context)):
            problems.append(f"DURABLE['CONTEXT'] must be a list of dotted paths; it is {self.context!r}")
        if not isinstance(self.queues, Mapping):
            problems.append(f"DURABLE['QUEUES'] must map queue names to their limits; it is {self.queues!r}")
        return problems

    def _bad_retention(self) -> list[str]:
        if not isinstance(self.retention, Mapping):
            return [f"DURABLE['RETENTION'] must map final statuses to seconds; it is {self.retention!r}"]
        problems = []
        for status, seconds in self.retention.items():
            if status not in FINAL_STATUSES:
                allowed = ", ".join(FINAL_STATUSES)
                problems.append(f"DURABLE['RETENTION'] knows {allowed}, and not {status!r}")
            elif seconds is not None and not _is_seconds(seconds, 0.0):
                problems.append(
                    f"DURABLE['RETENTION'][{status!r}] must be None, to keep them for ever, "
                    f"or a number of seconds; it is {seconds!r}"
                )
        return problems


KEYS = {f.name.upper(): f.name for f in fields(Settings)}


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The current value; raises ImproperlyConfigured, naming the key, if it cannot be used."""
    given = getattr(django_settings, "DURABLE", {})
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"DURABLE must be a dict; it is {given!r}")
    for key in given:
        if key not in KEYS:
            raise ImproperlyConfigured(f"DURABLE has no key {key!r}{_suggestion(key)}")
    return Settings(**{KEYS[key]: value for key, value in given.items()})


def _suggestion(key: object) -> str:
    close = difflib.get_close_matches(str(key).upper(), KEYS, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known keys: {', '.join(sorted(KEYS))}"


def _is_seconds(value: object, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= LONGEST


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _forget(*, setting: str, **_: object) -> None:
    if setting == "DURABLE":
        settings.cache_clear()


setting_changed.connect(_forget, dispatch_uid="django_durable.conf")
