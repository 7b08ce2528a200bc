"""Column types that Django does not bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    IntegerColumn = models.Field[int | None, int | None]
    TextColumn = models.TextField[str, str]
    TextsColumn = models.Field[list[str] | None, list[str] | None]
else:  # not subscriptable at run time
    IntegerColumn = models.Field
    TextColumn = models.TextField
    TextsColumn = models.Field


class Xid8Field(IntegerColumn):
    """A 64-bit transaction id (`xid8`): never wraps, compares by age."""

    description = "Transaction id"

    def db_type(self, connection: Any) -> str:
        return "xid8"

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else str(value)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> int | None:
        return None if value is None else int(value)


class TextsField(TextsColumn):
    """An array of texts."""

    description = "Texts"

    def db_type(self, connection: Any) -> str:
        return "text[]"


class ElementsIndex(models.Index):
    """Finds rows by an element of an array; kept up at once, since what is looked up was just written."""

    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any) -> Any:
        statement: Any = super().create_sql(model, schema_editor, using=" USING gin", **kwargs)
        statement.parts["extra"] = f" WITH (fastupdate = off){statement.parts['extra']}"
        return statement


class Joined(models.Func):
    """Texts put behind each other; null if one is."""

    template = "(%(expressions)s)"
    arg_joiner = " || "
    output_field = models.TextField()

    def __init__(self, prefix: str, column: str) -> None:
        super().__init__(models.Value(prefix, output_field=models.TextField()), models.F(column))


class KeyField(TextColumn):
    """A text primary key with its one index: Django adds a second for LIKE, which every claim would write."""

    def db_type(self, connection: Any) -> str:
        return "TEXT"  # what Django takes for its own type of text is spelt in small letters
