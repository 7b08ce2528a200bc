"""The statements of the package, one file each, in the room of those who send them.

`{{name}}` in a statement stands for the fragment of that name in fragments/. A statement's name is unique
over all rooms, so it is loaded by its name alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_FRAGMENT = re.compile(r"\{\{(\w+)\}\}")
NO_STATEMENTS = frozenset({"fragments", "schema"})


@cache
def load(name: str) -> str:
    """The text of the statement `name`, its fragments filled in and its header left out."""
    return _filled(_without_header(statements()[name]))


@cache
def load_schema(name: str) -> str:
    """The text of schema/`name`: what migrations run beyond what Django's operations can say."""
    return _without_header(files(__package__) / "schema" / f"{name}.sql")


def _filled(text: str) -> str:
    return _FRAGMENT.sub(lambda found: _fragment(found[1]), text)


def _fragment(name: str) -> str:
    return _filled(_without_header(files(__package__) / "fragments" / f"{name}.sql")).strip()


@cache
def statements() -> dict[str, Traversable]:
    """Every statement by its name."""
    return {path.name.removesuffix(".sql"): path for path in _files()}


def _files() -> Iterator[Traversable]:
    for room in files(__package__).iterdir():
        if room.is_dir() and room.name not in NO_STATEMENTS:
            yield from (path for path in room.iterdir() if path.name.endswith(".sql"))


def _without_header(path: Traversable) -> str:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith("--"))
