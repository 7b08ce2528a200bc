"""Changes of many runs in which receivers of `transition` take part: one refused run holds up no other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from django_durable.exceptions import Refused
from django_durable.maintenance.bounded import bounded

MOST = 20  # refusals of one batch, each of which repeats it

logger = logging.getLogger("django_durable.maintenance")
R = TypeVar("R")


def leaving_out_the_refused(act: Callable[[list[str]], R], using: str) -> R:
    """What `act`, given the ids that it is to leave as they are, does in a transaction of its own.

    It is done again without the run that a receiver refuses; raises Refused where that happens too often.
    """
    refused: list[str] = []
    while True:
        try:
            with bounded(using):
                return act(refused)
        except Refused as refusal:
            if len(refused) >= MOST:
                raise
            refused.append(refusal.workflow_id)
            extra = {"event": "refused", "workflow_id": refusal.workflow_id, "verb": refusal.verb}
            logger.exception("%s; it is tried again later", refusal, extra=extra)
