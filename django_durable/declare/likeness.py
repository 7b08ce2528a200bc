"""What a decorated function goes on to look like: its name, its signature, what others have put on it."""

from __future__ import annotations

import functools
from typing import Any


def take_after(made: Any, function: Any) -> None:
    """Like functools.update_wrapper; an attribute of the function's hides none of what `made` is for."""
    functools.update_wrapper(made, function, updated=())
    for name, value in getattr(function, "__dict__", {}).items():
        if not hasattr(made, name):
            setattr(made, name, value)
