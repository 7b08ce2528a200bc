"""How to start this very command again in a process of its own, with other options."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def start_again(command: str, options: Sequence[str]) -> list[str]:
    """The arguments of a new interpreter: by manage.py, as it was called, or by `python -m django`."""
    return [sys.executable, *subprocess._args_from_interpreter_flags(), *_launcher(), command, *options]  # type: ignore[attr-defined]


def _launcher() -> list[str]:
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name.endswith("__main__"):
        return ["-m", spec.name.removesuffix(".__main__")]
    script = Path(sys.argv[0])
    return [str(script)] if script.name == "manage.py" and script.exists() else ["-m", "django"]
