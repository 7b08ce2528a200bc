"""When a failed attempt is followed by another, and after how long."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from random import random as chance
from typing import Any, TypeGuard

from django_durable.exceptions import InvalidOption

BackOff = Callable[[int, BaseException | None], Any]
Predicate = Callable[[BaseException], object]
RetryOn = type[BaseException] | tuple[type[BaseException], ...] | Predicate

MOST_ATTEMPTS = 1_000_000
LONGEST = 365 * 24 * 3600.0  # added to any instant a run may have, it can still be stored
FACTOR = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Attempts are counted from 1 and include the first; intervals are seconds or timedeltas.

    The delay after attempt n is `interval * backoff ** (n - 1)`, at most `max_interval`, less a random share
    of up to `jitter`. A callable `backoff(attempt, error)` returns the delay itself, as seconds or timedelta,
    without jitter; if it raises or returns no length of time, the delay is that of the factor 2.
    `retry_on` is an exception type, a tuple of them, or a predicate of the error; None stands for Exception.
    Raises InvalidOption.
    """

    max_attempts: int = 1
    interval: float = 1.0
    backoff: float | BackOff = FACTOR
    max_interval: float = 3600.0
    jitter: float = 0.1
    retry_on: RetryOn | None = None

    def __post_init__(self) -> None:
        _check_attempts(self.max_attempts)
        for name in ("interval", "max_interval"):
            object.__setattr__(self, name, _checked_interval(name, getattr(self, name)))
        if self.interval > self.max_interval:
            raise InvalidOption(
                f"interval ({self.interval:g} s) is longer than max_interval ({self.max_interval:g} s); "
                "raise max_interval too"
            )
        _check_backoff(self.backoff)
        if not _is_number(self.jitter) or not 0 <= self.jitter <= 1:
            raise InvalidOption(f"jitter must be a share between 0 and 1; it is {_shown(self.jitter)}")
        object.__setattr__(self, "retry_on", _checked_types(self.retry_on))

    def should_retry(self, attempt: int, error: BaseException) -> bool:
        """Whether another attempt follows the one that just failed with `error`."""
        return attempt < self.max_attempts and self.allows(error)

    def allows(self, error: BaseException) -> bool:
        """Whether such an error may be retried; a predicate that raises says no, and a note tells."""
        if self.retry_on is None:
            return isinstance(error, Exception)
        if isinstance(self.retry_on, tuple):
            return isinstance(error, self.retry_on)
        try:
            return bool(self.retry_on(error))
        except Exception as fault:
            _note(error, f"not retried, as retry_on raised {type(fault).__name__}")
            return False

    def delay(
        self, attempt: int, error: BaseException | None = None, random: Callable[[], float] = chance
    ) -> float:
        """Seconds to wait after the failure of `attempt`, from 0 to `max_interval`; it never raises."""
        if not callable(self.backoff):
            return self._grown(attempt, self.backoff) * (1 - self.jitter * random())
        asked = self._asked(attempt, error)
        return self._grown(attempt, FACTOR) * (1 - self.jitter * random()) if asked is None else asked

    def _asked(self, attempt: int, error: BaseException | None) -> float | None:
        try:
            seconds = _seconds(self.backoff(attempt, error))  # type: ignore[operator]
        except Exception as fault:
            _note(error, f"retried after the default delay, as backoff raised {type(fault).__name__}")
            return None
        if seconds is None:
            _note(error, "retried after the default delay, as backoff returned no length of time")
            return None
        return float(min(seconds, self.max_interval))  # min first: an int may be too large for a float

    def _grown(self, attempt: int, factor: float) -> float:
        try:
            return min(self.interval * float(factor) ** max(attempt - 1, 0), self.max_interval)
        except OverflowError:
            return self.max_interval if self.interval else 0.0


def _seconds(value: object) -> float | None:
    """None for anything but a length of time that is finite and not negative."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return value if _is_number(value) and value >= 0 else None


def _check_attempts(value: object) -> None:
    if type(value) is not int or not 1 <= value <= MOST_ATTEMPTS:
        raise InvalidOption(
            f"max_attempts must be a whole number from 1 to {MOST_ATTEMPTS}, the first attempt included; "
            f"it is {_shown(value)}"
        )


def _checked_interval(name: str, value: object) -> float:
    seconds = _seconds(value)
    if seconds is None or seconds > LONGEST:
        raise InvalidOption(
            f"{name} must be a timedelta or seconds, from 0 to {LONGEST:.0f}; it is {_shown(value)}"
        )
    return float(seconds)


def _check_backoff(value: object) -> None:
    if callable(value) and not isinstance(value, type):
        return
    if not _is_number(value) or value < 1:
        raise InvalidOption(
            "backoff must be a factor of at least 1 (1 keeps the interval as it is) or a callable "
            f"(attempt, error) -> seconds; it is {_shown(value)}"
        )


def _checked_types(value: Any) -> Any:
    types = value if isinstance(value, tuple | list | set | frozenset) else (value,)
    if all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in types):
        return tuple(types)
    if value is None or (callable(value) and not isinstance(value, type)):
        return value
    raise InvalidOption(
        "retry_on must be an exception type, a tuple of them, or a predicate of the error; "
        f"it is {_shown(value)}"
    )


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _note(error: BaseException | None, text: str) -> None:
    """The same object may fail many attempts; one note says it."""
    notes = [] if error is None else vars(error).get("__notes__", [])
    if error is not None and isinstance(notes, list) and text not in notes:
        error.add_note(text)


def _shown(value: object) -> str:
    """Of plain types only: another's repr may raise."""
    plain = type(value) in (float, bool, timedelta, type(None)) or (
        type(value) is int and abs(value) < 10**20
    )
    return repr(value) if plain else f"of type {type(value).__name__}"
