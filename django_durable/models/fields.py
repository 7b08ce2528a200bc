"""Column types that Django does not bring."""

from __future__ import annotations

from typing import Any

from django.db import models


class Xid8Field(models.Field[int | None, int | None]):
    """A 64-bit transaction id (`xid8`): never wraps, compares by age."""

    description = "Transaction id"

    def db_type(self, connection: Any) -> str:
        return "xid8"

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else str(value)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> int | None:
        return None if value is None else int(value)
