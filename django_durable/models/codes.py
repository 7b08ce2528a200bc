"""What PostgreSQL calls an error, by its five letters."""

from __future__ import annotations


def code_of(error: BaseException) -> str | None:
    """The SQLSTATE of the driver's error that Django's was raised from."""
    code: str | None = getattr(error.__cause__, "sqlstate", None)
    return code
