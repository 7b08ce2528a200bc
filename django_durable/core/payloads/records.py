"""Values of the project's own classes as data: enum members, dataclass instances, named tuples.

Only classes that every process can import by name are written. Reading one imports its module and checks its
kind; no constructor runs.
"""

from __future__ import annotations

import dataclasses
from enum import Enum, Flag
from typing import Any, NamedTuple

from django_durable.core.payloads.classes import find_class, is_importable, native_base, path_of, type_name

GENERIC_ALIAS = "__orig_class__"  # left by `Box[int](…)`: it says nothing that the fields do not


class Record(NamedTuple):
    """A class by its path, and the values its instance holds by name."""

    path: str
    values: dict[str, Any]


def is_dataclass(kind: type) -> bool:
    return any("__dataclass_fields__" in base.__dict__ for base in kind.__mro__)


def is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def dump_enum(member: Enum) -> list[Any]:
    """By name, so that a value may change; a combination of flags by its number."""
    kind = type(member)
    path = _importable(kind)
    if isinstance(member, Flag):
        return [path, member.value]
    if kind.__members__.get(member.name) is not member:
        raise ValueError("it is no listed member of its enum; pass its value")
    return [path, member.name]


def load_enum(data: list[Any]) -> Enum:
    path, key = data
    kind = _found(path)
    if not issubclass(kind, Enum):
        raise LookupError(f"{type_name(kind)} is no longer an enum")
    return kind(key) if issubclass(kind, Flag) else kind.__members__[key]


def dump_dataclass(instance: Any) -> Record:
    """Every field and every further attribute but what a descriptor of the class has cached there."""
    kind = type(instance)
    path = _importable(kind)
    if native_base(kind) is not object:
        raise ValueError(f"it is also a {native_base(kind).__name__}; pass plain data instead")
    try:
        values = {field.name: getattr(instance, field.name) for field in dataclasses.fields(kind)}
    except AttributeError as error:
        raise ValueError(f"one of its fields is not set: {error}") from None
    return Record(path, values | _further_attributes(instance, values))


def load_dataclass(data: list[Any]) -> Any:
    """Set what was stored, without `__init__`; a field that the class has gained takes its default."""
    path, values = data
    kind = _found(path)
    if not is_dataclass(kind):
        raise LookupError(f"{type_name(kind)} is no longer a dataclass")
    instance: Any = object.__new__(kind)
    for name, value in (_defaults(kind, values) | values).items():
        object.__setattr__(instance, name, value)
    return instance


def dump_namedtuple(instance: Any) -> Record:
    kind = type(instance)
    path = _importable(kind)
    if getattr(instance, "__dict__", None):
        raise ValueError("it holds attributes beside its fields; pass plain data instead")
    return Record(path, dict(zip(kind._fields, instance, strict=True)))


def load_namedtuple(data: list[Any]) -> Any:
    path, values = data
    kind: Any = _found(path)
    if not is_namedtuple(kind):
        raise LookupError(f"{type_name(kind)} is no longer a named tuple")
    values = kind._field_defaults | values
    if values.keys() != set(kind._fields):
        raise LookupError(f"{type_name(kind)} has the fields {list(kind._fields)}; {list(values)} are stored")
    return tuple.__new__(kind, [values[name] for name in kind._fields])


def _importable(kind: type) -> str:
    if not is_importable(kind):
        raise ValueError(
            f"no other process can import {type_name(kind)}; define the class at the top level of a module"
        )
    return path_of(kind)


def _found(path: str) -> type:
    kind = find_class(path, importing=True)
    if kind is None:
        raise LookupError(f"there is no class {path!r}; was it moved? leave its old name behind")
    return kind


def _further_attributes(instance: Any, fields: dict[str, Any]) -> dict[str, Any]:
    attributes: dict[str, Any] = getattr(instance, "__dict__", {})
    return {
        name: value
        for name, value in attributes.items()
        if name not in fields
        and name != GENERIC_ALIAS
        and not hasattr(getattr(type(instance), name, None), "__get__")
    }


def _defaults(kind: Any, stored: dict[str, Any]) -> dict[str, Any]:
    defaults = {}
    for field in dataclasses.fields(kind):
        if field.name in stored:
            continue
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory()
        else:
            raise LookupError(f"{type_name(kind)} has gained the field {field.name!r}, which has no default")
    return defaults
