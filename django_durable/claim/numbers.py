"""The numbers of claims, looked at now and then, so that counts can begin at the oldest run in flight."""

from __future__ import annotations

import time

from django.db import connections

from django_durable.core.planning.oldest import Oldest
from django_durable.models import database

EVERY = 1.0  # seconds: as much of a graveyard is walked as grows meanwhile


class Numbers:
    """One claimer's; nothing here outlives its connection."""

    def __init__(self, using: str) -> None:
        self.using = using
        self._oldest = Oldest()
        self._due = 0.0
        self._connection: object = None

    def look(self) -> Oldest:
        """Where the counts of the next claim begin; inside an atomic(), which may undo an end, at nothing."""
        if connections[self.using].in_atomic_block:
            return Oldest()
        self._forget_other_connection()
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY
            self._ask()
        return self._oldest

    def _ask(self) -> None:
        """In this order: see core.planning.oldest."""
        ((last,),) = database.fetch("last_claim", {}, self.using) or [(None,)]
        if last is None:
            self._oldest = Oldest()
            return
        under_way = database.fetch("claims_under_way", {}, self.using)
        self._oldest.look(last, {transaction for (transaction,) in under_way})

    def _forget_other_connection(self) -> None:
        connections[self.using].ensure_connection()
        connection = connections[self.using].connection
        if connection is not self._connection:
            self._oldest = Oldest()
            self._due = 0.0
            self._connection = connection
