"""Django's settings of a database from the URL that libpq understands."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

SCHEMES = ("postgresql://", "postgres://")
NAMES = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}


def database(url: str) -> dict[str, Any]:
    """Settings for `DATABASES`: whatever libpq takes in the URL's query goes to OPTIONS.

    The URL is never repeated in an error: it may hold a password.
    """
    if not url.startswith(SCHEMES):
        raise ImproperlyConfigured(f"DATABASE_URL must begin with {SCHEMES[0]}: only Postgres will do")
    try:
        given = conninfo_to_dict(url)
    except ProgrammingError:
        raise ImproperlyConfigured(
            "DATABASE_URL is no URL that libpq understands: write postgresql://user:password@host:port/name,"
            " with special characters percent-encoded and only libpq's parameters after '?'"
        ) from None
    settings = {key: str(given.pop(name, "")) for key, name in NAMES.items()}
    return {"ENGINE": "django.db.backends.postgresql", **settings, "OPTIONS": given}
