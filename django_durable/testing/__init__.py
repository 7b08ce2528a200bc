"""Tools for the tests of a project that uses workflows. They work inside Django's plain TestCase.

Each is imported when first asked for: pytest loads the plugin of this package before there are settings.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django_durable.testing.assertions import assert_enqueued, assert_not_enqueued, enqueued
    from django_durable.testing.clock import Clock, freeze, shift
    from django_durable.testing.draining import adrain, drain
    from django_durable.testing.faults import crash_at, fail_step

__all__ = [
    "Clock",
    "adrain",
    "assert_enqueued",
    "assert_not_enqueued",
    "crash_at",
    "drain",
    "enqueued",
    "fail_step",
    "freeze",
    "shift",
]

HOMES = {
    "assertions": ("assert_enqueued", "assert_not_enqueued", "enqueued"),
    "clock": ("Clock", "freeze", "shift"),
    "draining": ("adrain", "drain"),
    "faults": ("crash_at", "fail_step"),
}


def __getattr__(name: str) -> Any:
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
