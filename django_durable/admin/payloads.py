"""What runs were given and what they gave, as text: not decoded into values, no longer than a page bears."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from django.db.models import F
from django.db.models.expressions import Combinable
from django.db.models.functions import Left, Length

from django_durable.core.payloads import failures
from django_durable.core.payloads.excerpt import excerpt, legible
from django_durable.core.payloads.failures import Failure
from django_durable.engine.redaction import redacted, redacted_failure, redacts

LONGEST = 20_000  # characters of a payload on a page
LONGEST_INDENTED = 60_000
LONGEST_RECORD = 1_000_000  # characters of an error's record that are read
LONGEST_TRACEBACK = 70_000
INDENTED = json.JSONEncoder(indent=2, ensure_ascii=False)
HIDDEN = "Hidden: your account may not see payloads."
TOO_LONG = "Hidden: {} characters are too many to be redacted on this page."
UNREADABLE = object()


class Payload(NamedTuple):
    """The beginning of a stored text, and how many characters all of it has."""

    beginning: str
    size: int

    @classmethod
    def columns(cls, name: str, longest: int = LONGEST) -> dict[str, Combinable]:
        """Annotations that read no more of the column than is shown."""
        return {f"{name}_beginning": Left(F(name), longest), f"{name}_size": Length(F(name))}

    @classmethod
    def of(cls, row: object, name: str) -> Payload | None:
        beginning = getattr(row, f"{name}_beginning")
        return None if beginning is None else cls(beginning, getattr(row, f"{name}_size"))

    @property
    def is_whole(self) -> bool:
        return self.size == len(self.beginning)

    def text(self, workflow: str, what: str, step: str | None = None) -> str:
        """Redacted; indented where it is JSON and whole, as it is stored where not."""
        if not self.is_whole:
            return self._beginning()
        value = _parsed(self.beginning)
        if not redacts():
            return legible(_indented(value) or self.beginning)
        shown = redacted(self.beginning if value is UNREADABLE else value, workflow, what, step)
        return legible(excerpt(_indented(shown) or f"{shown}", LONGEST))

    def _beginning(self) -> str:
        if redacts():
            return TOO_LONG.format(self.size)
        shown = self.beginning[:LONGEST]
        return f"{legible(shown)}\n… {self.size - len(shown)} more characters"

    def failure(self, workflow: str, step: str | None = None) -> Failure:
        """The text as the record of an error; one too long to be read as such is its own message."""
        if not self.is_whole:
            return Failure("", self._beginning(), "")
        kind, message, traceback = redacted_failure(failures.summary(self.beginning), workflow, step)
        return Failure(
            legible(kind),
            legible(excerpt(message, LONGEST)),
            legible(excerpt(traceback, LONGEST_TRACEBACK)),
        )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return UNREADABLE


def _indented(value: Any) -> str | None:
    """None for what is no JSON, and for what would grow too long, as deep nesting does by its margins."""
    if value is UNREADABLE:
        return None
    parts: list[str] = []
    room = LONGEST_INDENTED
    try:
        for part in INDENTED.iterencode(value):
            parts.append(part)
            room -= len(part)
            if room < 0:
                return None
    except (TypeError, ValueError, RecursionError):
        return None
    return "".join(parts)
