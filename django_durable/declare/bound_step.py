"""A step that stands in a class, as an instance of the class gives it."""

from __future__ import annotations

import functools
from typing import Any


class BoundStep(functools.partial[Any]):
    """The step with its instance as the first argument, in all its forms."""

    @property
    def name(self) -> str:
        return str(self.func.name)  # type: ignore[attr-defined]

    def acall(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.func.acall(*self.args, *args, **kwargs)  # type: ignore[attr-defined]
