"""Writes the shop's probe. An app of your own needs nothing like it."""

from __future__ import annotations

import os

from shop.models import BodyRun


def began(workflow_id: str, step: str, part: int = 0) -> None:
    """Note that a step's body began here; committed at once, whatever becomes of the step."""
    BodyRun.objects.using("outside").create(workflow_id=workflow_id, step=step, part=part, pid=os.getpid())
