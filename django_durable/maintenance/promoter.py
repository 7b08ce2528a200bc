"""DELAYED runs whose time has come stand in line."""

from __future__ import annotations

from django_durable.maintenance.joining import Joining


class Promoter(Joining):
    """A batch is of all queues together."""

    statement = verb = "promote"
