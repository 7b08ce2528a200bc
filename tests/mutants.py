"""Break one rule of the claim at a time, to see that its tests notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django_durable import sql

Break = Callable[[Any], None]  # is given pytest's monkeypatch


class Mutant(NamedTuple):
    rule: str
    break_it: Break


def in_sql(statement: str, old: str, new: str) -> Break:
    """Change the text of a statement; what it changes must be there."""

    def break_it(monkeypatch: Any) -> None:
        right = sql.load
        wrong = right(statement).replace(old, new)
        assert wrong != right(statement), f"{old!r} is not in {statement}"
        monkeypatch.setattr(sql, "load", lambda name: wrong if name == statement else right(name))

    return break_it


def in_every_statement(old: str, new: str) -> Break:
    def break_it(monkeypatch: Any) -> None:
        right = sql.load
        monkeypatch.setattr(sql, "load", lambda name: right(name).replace(old, new))

    return break_it


def in_python(owner: object, name: str, wrong: object) -> Break:
    return lambda monkeypatch: monkeypatch.setattr(owner, name, wrong)
