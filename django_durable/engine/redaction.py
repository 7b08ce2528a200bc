"""What people are shown of payloads: as the project's DURABLE['REDACT'] lets them see it.

What is stored stays whole, and so is what code is given: arguments, results and errors raised again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.utils.module_loading import import_string

from django_durable.conf import settings
from django_durable.core.payloads.failures import Failure


def redacts() -> bool:
    """Whether the project hides anything."""
    return settings().redact is not None


def redacted(value: Any, workflow: str, what: str, step: str | None = None) -> Any:
    """`value`, plain JSON as it is stored, as it may be shown; nothing of it where the function fails.

    `what` is "input", "output" or "error", of the run or of one step.
    """
    path = settings().redact
    if path is None:
        return value
    try:
        return _function(path)(value, workflow=workflow, what=what, step=step)
    except Exception as fault:
        return f"hidden, as {path} raised {type(fault).__name__}"


def redacted_failure(failure: Failure, workflow: str, step: str | None = None) -> Failure:
    """Its type is always shown; message and traceback are one dict to the project's function."""
    if not redacts():
        return failure
    texts = {"message": failure.message, "traceback": failure.traceback}
    shown = redacted(texts, workflow, "error", step)
    if not isinstance(shown, dict):
        shown = {"message": f"{shown}"}
    return Failure(failure.type, f"{shown.get('message', '')}", f"{shown.get('traceback', '')}")


@lru_cache(maxsize=8)
def _function(path: str) -> Callable[..., Any]:
    found: Callable[..., Any] = import_string(path)
    return found
