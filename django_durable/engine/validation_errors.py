"""Django's ValidationError in records: it holds itself, or errors by field, and comes back as it was."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError

from django_durable.core.payloads.revival import Joints, register_joints
from django_durable.core.payloads.serialization import json_serializer
from django_durable.exceptions import NotSerializable

Row = list[Any]


def register() -> None:
    """Teach the records of errors this class; may be called again."""
    register_joints(ValidationError, Joints(_apart, _together))


def _apart(error: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    own = {name: value for name, value in vars(error).items() if name not in ("error_dict", "error_list")}
    if hasattr(error, "error_dict"):
        by_field = {field: list(map(_row, errors)) for field, errors in error.error_dict.items()}
        return ({field: list(map(_told, rows)) for field, rows in by_field.items()}, None, None), own | {
            "error_dict": by_field
        }
    if hasattr(error, "message"):
        row = _row(error)
        return tuple(row), own | dict(zip(("message", "code", "params"), row, strict=True))
    rows = list(map(_row, error.error_list))
    return (list(map(_told, rows)), None, None), own | {"error_list": rows}


def _together(error: Any) -> None:
    if hasattr(error, "error_dict"):
        error.error_dict = {field: _members(rows) for field, rows in error.error_dict.items()}
    else:
        error.error_list = [error] if hasattr(error, "message") else _members(error.error_list)


def _members(rows: list[Row]) -> list[ValidationError]:
    return [ValidationError(message, code, params) for message, code, params in rows]


def _row(error: Any) -> Row:
    """Message, code and parameters; a message whose parameters are not stored has them filled in."""
    row = [error.message, error.code, error.params]
    return row if _is_stored(row) else [_told(row), None if error.code is None else str(error.code), None]


def _told(row: Row) -> str:
    message, _, params = row
    try:
        return str(message % params if params else message)
    except (LookupError, TypeError, ValueError):  # str() of the error itself raises this too
        return str(message)


def _is_stored(row: Row) -> bool:
    try:
        json_serializer.dumps(row)
    except (NotSerializable, TypeError, ValueError):
        return False
    return True
