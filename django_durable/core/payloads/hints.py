"""What to pass instead of a value that is not stored, told from its type alone."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

REPLACEABLE = (str, int, float, bytes, tuple, list, dict, set, frozenset, Decimal, date)
PLAIN = "pass plain data, a dataclass, or an id and load it inside the workflow"


def hint_for(kind: type) -> str:
    for base in REPLACEABLE:
        if issubclass(kind, base):
            return _for_subclass(base)
    if issubclass(kind, BuiltinFunctionType | FunctionType | MethodType | ModuleType | type):
        return "code is not stored; pass its name"
    for attribute, hint in BY_ATTRIBUTE.items():
        if any(attribute in base.__dict__ for base in kind.__mro__):
            return hint
    return PLAIN


BY_ATTRIBUTE = {
    "model_dump": "pass value.model_dump(), and make the model of it again inside the workflow",
    "__attrs_attrs__": "pass attrs.asdict(value), or declare the class as a dataclass",
    "fileno": "an open file or socket belongs to one process; pass its name or its content",
    "read": "an open file or socket belongs to one process; pass its name or its content",
    "__next__": "it can be read only once; pass a list of what it yields",
    "to_dict": "pass value.to_dict()",
    "__array__": "pass value.tolist(), which gives plain data",
    "__fspath__": "pass str(value)",
    "tobytes": "pass bytes(value) or a list",
    "__await__": "await it first and pass what it gives",
    "__iter__": "pass a list of what it holds",
}


def _for_subclass(base: type) -> str:
    if base is date:
        return "it would come back as another type; convert it to a plain date or datetime"
    return f"it would come back as a plain {base.__name__}; pass {base.__name__}(value) if that is meant"
