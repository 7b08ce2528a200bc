"""Tools for the tests of a project that uses workflows. They work inside Django's plain TestCase."""

from __future__ import annotations

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
