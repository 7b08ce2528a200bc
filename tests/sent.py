"""Statements as they were sent, whole or by the name of a plan that the server keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django_durable import sql

BY_PLAN = re.compile(r"EXECUTE durable_(\w+)_\d+\b")


def plan_of(text: str) -> str | None:
    """The statement whose plan is used; None: it was sent whole."""
    found = BY_PLAN.match(text)
    return found[1] if found else None


def texts(captured: Iterable[dict[str, Any]]) -> list[str]:
    """The texts of captured queries, spelled out where they name a plan."""
    return [BY_PLAN.sub(lambda found: sql.load(found[1]), query["sql"]) for query in captured]
