"""A project that keeps its workflows in a database of their own."""

from __future__ import annotations

from typing import Any


class OwnDatabase:
    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "durable" if model._meta.app_label == "durable" else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return (app_label == "durable") == (db == "durable")
