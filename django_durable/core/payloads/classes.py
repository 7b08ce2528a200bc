"""How a class is written down, and found again with no code run but the import of its module."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: set for classes made by Python code, unset for most made in C


def path_of(cls: type) -> str:
    """`module:qualname`, also for a class whose metaclass hides them."""
    module = type.__dict__["__module__"].__get__(cls)
    qualname = type.__dict__["__qualname__"].__get__(cls)
    return f"{module}:{qualname}"


def shown(path: str) -> str:
    """A path as people write it: `shop.errors.Declined`, and `ValueError` for a builtin."""
    return path.replace(":", ".", 1).removeprefix("builtins.")


def type_name(cls: type) -> str:
    return shown(path_of(cls))


def find_class(path: str, *, importing: bool = False) -> type | None:
    """The class at `path`, or None; without `importing` only modules already loaded are looked at.

    Looks into namespaces and calls no attribute hook. Raises LookupError if the import itself fails.
    """
    module_name, _, qualname = path.partition(":")
    found: object = _module(module_name, importing)
    for name in qualname.split("."):
        if not isinstance(found, ModuleType | type):
            return None
        found = found.__dict__.get(name)
    return found if isinstance(found, type) else None


def is_importable(cls: type) -> bool:
    """Whether another process can find the class; `__main__` is another module there."""
    path = path_of(cls)
    return not path.startswith("__main__:") and find_class(path) is cls


def native_base(cls: type) -> type:
    """The first class of the line that is written in C: what an instance is made of."""
    return next(base for base in cls.__mro__ if not base.__flags__ & HEAP_TYPE)


def _module(name: str, importing: bool) -> ModuleType | None:
    if importing:
        try:
            return importlib.import_module(name)
        except Exception as error:
            raise LookupError(f"module {name!r} cannot be imported: {error!r}") from error
    return sys.modules.get(name)
