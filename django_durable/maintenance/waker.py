"""Woken runs of queues where waiting holds no slot stand in line again, at their old place."""

from __future__ import annotations

from django_durable.maintenance.joining import Joining


class Waker(Joining):
    """A batch is of one queue, and as many are taken of each."""

    statement = "wake_into_line"
    verb = "wake"
