"""The statements of the package, one file each; `{{name}}` in a statement is a fragment of sql/fragments/."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_FRAGMENT = re.compile(r"\{\{(\w+)\}\}")


@cache
def load(name: str) -> str:
    """The text of the statement `name`, its fragments filled in and its header left out."""
    return _without_header(_FRAGMENT.sub(lambda found: _fragment(found[1]), _read(f"{name}.sql")))


def _fragment(name: str) -> str:
    return _without_header(_read(f"fragments/{name}.sql")).strip()


def _read(path: str) -> str:
    return (files(__package__) / path).read_text(encoding="utf-8")


def _without_header(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("--"))
