"""Errors as data: `describe` writes one, `summary` reads it as text, `restore` makes an exception of it.

`describe` takes any exception: one whose str() raises, with NUL or half characters, of ten megabytes, of a
class inside a function. `summary` touches no class. `restore` looks for the class only in modules already
loaded: an `except` clause that could catch it has loaded it too, so a stored text never makes a process
import anything.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from django_durable.core.payloads import revival
from django_durable.core.payloads.classes import path_of, shown, type_name
from django_durable.core.payloads.codecs import register_codec
from django_durable.core.payloads.excerpt import excerpt, legible
from django_durable.core.payloads.jsontext import ENCODER, storable
from django_durable.core.payloads.revival import RECORDED_TRACEBACK
from django_durable.exceptions import StepFailed

# Sizes in characters; what is longer loses its middle.
MESSAGE = 16 * 1024
TRACEBACK = 64 * 1024
NOTES = 50
FRAMES = 200  # of each exception, the innermost
RELATIVES = 40  # causes, contexts and group members described with one error
DEPTH = 20  # of causes of causes
ROOM = 512 * 1024  # for the arguments and attributes of an error and its relatives
# Errors held by errors, as StepRetriesExhausted holds its attempts, are described shorter: each level is
# escaped once more. What is held deeper than this is not made again, only read.
NESTING = 2
SHORTER = 8

_nesting: ContextVar[int] = ContextVar("django_durable_described_errors", default=0)

Data = dict[str, Any]


class Failure(NamedTuple):
    """What people read of an error; `type` is its class's full name."""

    type: str
    message: str
    traceback: str


def describe(error: BaseException, beside: Mapping[str, Any] | None = None) -> str:
    """The error as text for a column; never raises. `beside`, plain JSON, is kept in the record as it is."""
    token = _nesting.set(_nesting.get() + 1)
    try:
        described = _Description(nesting=_nesting.get())
        traceback = described.text(_traceback(error), TRACEBACK)
        data = {**described.of(error), "traceback": traceback, "beside": {**(beside or {})}}
        return storable(ENCODER.encode(data))
    except Exception as fault:
        return _barely(error, fault)
    finally:
        _nesting.reset(token)


def summary(text: str) -> Failure:
    """Never raises: text of another origin is its own message."""
    data = _parsed(text)
    return Failure(shown(data["type"]), data["message"], data["traceback"])


def beside(text: str) -> Data:
    """What was kept beside the error when it was described."""
    kept = _parsed(text).get("beside")
    return kept if isinstance(kept, dict) else {}


def restore(text: str, *, programs: bool = False) -> BaseException:
    """An exception of the recorded type, or StepFailed. Never raises.

    Its own type takes a class that is loaded here and is an Exception, or with `programs` anything that was
    raised: where a body gets again what it got before. `__init__` is not called unless the class says by
    `__reduce__` how to call it. Attributes that could not be stored are absent, such arguments are texts,
    and a note names them.
    """
    data = _parsed(text)
    try:
        return revival.revive(data, programs=programs)
    except Exception:  # a damaged record: what can be read of it is the error
        return StepFailed(*_summed(data))


class _Description:
    """One error with its relatives; counts them, and meets no error twice."""

    def __init__(self, nesting: int) -> None:
        self.nesting = nesting
        self.room = ROOM
        self.left = RELATIVES
        self.met: set[int] = set()

    def text(self, text: str, limit: int) -> str:
        return legible(excerpt(text, limit if self.nesting == 1 else limit // SHORTER))

    def of(self, error: BaseException, depth: int = 0) -> Data:
        self.left -= 1
        self.met.add(id(error))
        # Its own parts first: what room they leave is for its relatives.
        own = self._members(error, depth) if isinstance(error, BaseExceptionGroup) else self._parts(error)
        return {
            **own,
            "type": path_of(type(error)),
            "message": self.text(text_of(error), MESSAGE),
            "notes": [self.text(note, MESSAGE) for note in _notes(error)],
            "suppress": error.__suppress_context__,
            "cause": self._relative(error.__cause__, depth),
            "context": self._relative(error.__context__, depth),
        }

    def _parts(self, error: BaseException) -> Data:
        if self.nesting > NESTING:
            return {}
        parts, taken = revival.parts_of(error, self.room)
        self.room -= taken
        return parts

    def _relative(self, error: BaseException | None, depth: int) -> Data | None:
        if error is None or id(error) in self.met or not self.left or depth >= DEPTH:
            return None
        return self.of(error, depth + 1)

    def _members(self, group: BaseExceptionGroup[Any], depth: int) -> Data:
        """A group whose members are not all described is no longer that group, so it is not rebuilt."""
        members = [self._relative(member, depth) for member in group.exceptions]
        if None in members:
            return {}
        parts, taken = revival.attributes_of(group, self.room)
        self.room -= taken
        return {"group": self.text(group.message, MESSAGE), "members": members, **parts}


def text_of(error: BaseException) -> str:
    """str() of it, or a text that says why there is none."""
    try:
        return str(error)
    except Exception as fault:
        return f"<str() of this error raised {type_name(type(fault))}>"


def _notes(error: BaseException) -> list[str]:
    notes = getattr(error, "__notes__", None)
    texts = [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
    return texts[:NOTES]


def _traceback(error: BaseException) -> str:
    try:
        report = traceback.TracebackException(
            type(error), error, error.__traceback__, limit=-FRAMES, compact=True
        )
        text = "".join(report.format())
    except Exception as fault:
        text = f"<no traceback: rendering it raised {type_name(type(fault))}>"
    recorded = vars(error).get(RECORDED_TRACEBACK)
    return f"{recorded}\nRaised again from its record:\n\n{text}" if isinstance(recorded, str) else text


def _barely(error: BaseException, fault: Exception) -> str:
    """All that can be said of an error whose very parts raise when looked at."""
    data = {
        "type": path_of(type(error)),
        "message": legible(excerpt(text_of(error), MESSAGE)),
        "traceback": f"<describing this error raised {type_name(type(fault))}>",
    }
    return json.dumps(data)


def _parsed(text: str) -> Data:
    """A record with its three texts present; what is no record is the message of an unknown error."""
    try:
        data = json.loads(text)
    except (RecursionError, TypeError, ValueError):
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("type"), str):
        return {"type": "unknown", "message": f"{text}", "traceback": ""}
    texts = {name: data[name] if isinstance(data.get(name), str) else "" for name in ("message", "traceback")}
    return {**data, **texts}


def _summed(data: Data) -> Failure:
    return Failure(shown(data["type"]), data["message"], data["traceback"])


register_codec("error", BaseException, describe, restore)
