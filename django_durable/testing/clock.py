"""Let time pass for workflows without waiting: the instants that are stored move, the clock does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings as django_settings
from django.test import override_settings

from django_durable.core.options import given_duration
from django_durable.models import database

TIMERS = ["durable.sleep", "durable.recv.timer", "durable.get_event.timer", "durable.result.timer"]


def shift(by: timedelta | float) -> None:
    """Let so much time pass for all runs: delays, debounces, sleeps, timeouts, deadlines and rate windows.

    Leases of workers do not move: a run that is claimed stays claimed.
    """
    length = given_duration("by", by)
    for statement in ("shift_runs", "shift_steps", "shift_starts"):
        database.change(statement, {"by": length, "timers": TIMERS}, database.alias())


class Clock:
    """What `freeze` gives: time passes only when it is told to."""

    def shift(self, by: timedelta | float) -> None:
        shift(by)


@contextmanager
def freeze() -> Iterator[Clock]:
    """Within the block no body waits in place: every wait leaves the worker, until the clock is shifted."""
    current = dict(getattr(django_settings, "DURABLE", {}))
    with override_settings(DURABLE={**current, "SUSPEND_AFTER": 0.0}):
        yield Clock()
