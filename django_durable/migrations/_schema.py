"""Migration operation for what Django's models cannot say: sequences, functions and autovacuum settings."""

from __future__ import annotations

import re
from typing import Any

from django.db import router
from django.db.migrations.operations.base import Operation

from django_durable import sql


class RunStatements(Operation):
    """Run statements of sql/schema/ on PostgreSQL, where the router allows the app's migrations."""

    reversible = True
    reduces_to_sql = True

    def __init__(self, forwards: str, backwards: str) -> None:
        self.forwards = forwards
        self.backwards = backwards

    def state_forwards(self, app_label: str, state: Any) -> None:
        pass

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._run(self.forwards, app_label, schema_editor)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._run(self.backwards, app_label, schema_editor)

    def describe(self) -> str:
        return f"Run the statements of {self.forwards}"

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__name__, [self.forwards, self.backwards], {}

    def _run(self, name: str, app_label: str, schema_editor: Any) -> None:
        connection = schema_editor.connection
        if connection.vendor != "postgresql" or not router.allow_migrate(connection.alias, app_label):
            return
        for statement in _statements(sql.load_schema(name)):
            schema_editor.execute(statement, None)


def _statements(text: str) -> list[str]:
    """Split at the semicolons that stand outside of dollar quotes."""
    statements = re.findall(r"(?:[^;$]|\$(?!\$)|\$\$.*?\$\$)+", text, re.DOTALL)
    return [statement.strip() for statement in statements if statement.strip()]
