"""Runs that are this executor's in the table and that nothing in this process knows of.

A claim that is committed while the line breaks leaves such: its answer is lost, and nobody recovers its runs
as long as this process lives. They are found by the tokens of their claims, and go on as if it had come.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable
from uuid import UUID

from django_durable.core.run import Run
from django_durable.models import database

SOON, LATEST = 1.0, 60.0  # seconds between looks, twice as many each: the commit may still be under way

logger = logging.getLogger("django_durable.worker")


class Strays:
    """To be asked by who claims, between two claims: then whatever is unknown is stray."""

    def __init__(self, using: str) -> None:
        self.using = using
        self.due = math.inf  # monotonic; nothing is looked for until a claim got no answer
        self._pause = SOON

    def note_lost_answer(self) -> None:
        self._pause = SOON
        self.due = time.monotonic() + SOON

    def look(self, executor: UUID, known: Iterable[Run]) -> list[Run]:
        """Those that are to go on, if it is time to look for any."""
        if time.monotonic() < self.due:
            return []
        tokens = list({run.token for run in known})
        found = database.fetch("stray_runs", {"executor": executor, "known": tokens}, self.using)
        self._pause = min(self._pause * 2, LATEST)
        self.due = time.monotonic() + self._pause
        if found:
            extra = {"event": "strays_found", "runs": len(found)}
            logger.warning("%d workflows of a claim whose answer was lost go on", len(found), extra=extra)
        return [Run(*row) for row in found]
