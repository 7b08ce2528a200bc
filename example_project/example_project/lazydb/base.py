"""A PostgreSQL backend that starts the private server at the first connection, not when settings load.

`check`, `makemigrations` and a type checker's plugin load the settings and need no server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base, client

from example_project import devdb
from example_project.database import database


class DatabaseClient(client.DatabaseClient):
    """`dbshell`, told where the server is."""

    connection: DatabaseWrapper

    def runshell(self, parameters: Iterable[str]) -> None:
        self.connection.locate()
        super().runshell(parameters)


class DatabaseWrapper(base.DatabaseWrapper):
    """The stock backend; only the place of the server is looked up late."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        self.locate()
        return super().get_connection_params()

    def locate(self) -> None:
        """Start the server if nothing runs, and enter its address; the name of the database stays."""
        found = database(devdb.url(settings.DEVDB_ROOT))
        self.settings_dict.update({key: found[key] for key in ("USER", "PASSWORD", "HOST", "PORT")})
