"""What is kept of an exception to make it again, and the making.

`parts_of` takes it apart the way pickle would, `revive` puts it together without running its `__init__`,
since that may ask for other arguments than those in `args`. A class with a `__reduce__` of its own is called
as that says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django_durable.core.payloads.classes import (
    HEAP_TYPE,
    find_class,
    is_importable,
    native_base,
    shown,
    type_name,
)
from django_durable.core.payloads.excerpt import excerpt, quoted
from django_durable.core.payloads.jsontext import decode, encode
from django_durable.exceptions import ControlFlow, StepFailed

ARGUMENT_TEXT = 16 * 1024  # characters of a text argument; the middle of a longer one is left out
RECORDED_TRACEBACK = "__durable_traceback__"
NOT_STATE = {"__notes__", RECORDED_TRACEBACK}

Data = dict[str, Any]


class Reduced(NamedTuple):
    """`called`: whether the class itself is to be called with the arguments."""

    called: bool
    args: tuple[Any, ...]
    state: dict[str, Any]


class Joints(NamedTuple):
    """How errors of one class come apart into plain values, and what is left to do once these are set."""

    apart: Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]
    together: Callable[[Any], None]


JOINTS: dict[type[Exception], Joints] = {}


def register_joints(kind: type[Exception], joints: Joints) -> None:
    """For a class and its subclasses, whose attributes are errors, or themselves, and no plain values."""
    JOINTS[kind] = joints


def parts_of(error: BaseException, room: int) -> tuple[Data, int]:
    """Arguments and attributes as JSON texts of `room` characters at most, and the characters taken.

    Without parts the exception cannot be made again elsewhere.
    """
    if not is_importable(type(error)) or isinstance(error, ControlFlow):
        return {}, 0
    called, args, attributes = _reduced(error)
    arguments, replaced = _storable(args, called=called)
    written = _encoded(arguments)
    if written is None or len(written) > room:
        return {}, 0
    state, lost = _written(attributes, room - len(written))
    parts = {"called": called, "args": written, "state": state, "lost": [*replaced, *lost]}
    return parts, len(written) + sum(map(len, state.values()))


def attributes_of(error: BaseException, room: int) -> tuple[Data, int]:
    """The same of a group, whose arguments are its message and its members."""
    state, lost = _written(_attributes(vars(error)) | _slots(error), room)
    return {"state": state, "lost": lost}, sum(map(len, state.values()))


def _written(attributes: dict[str, Any], room: int) -> tuple[dict[str, str], list[str]]:
    """Each attribute that fits as JSON text; names and types of the others."""
    state: dict[str, str] = {}
    lost: list[str] = []
    for name, value in attributes.items():
        text = _encoded(value)
        if text is None or len(text) > room:
            lost.append(f"{name} ({type_name(type(value))})")
        else:
            state[name] = text
            room -= len(text)
    return state, lost


def revive(data: Data, *, programs: bool = False) -> BaseException:
    """With `programs`, what ends programs comes back as itself too."""
    error = _own(data, programs=programs) or StepFailed(
        shown(data["type"]), data["message"], data.get("traceback", "")
    )
    for name, attribute in (("cause", "__cause__"), ("context", "__context__")):
        if data.get(name):
            setattr(error, attribute, revive(data[name]))
    error.__suppress_context__ = bool(data.get("suppress"))
    if notes := [*data.get("notes", []), *_loss(data)]:
        error.__notes__ = notes
    if data.get("traceback"):
        error.__dict__[RECORDED_TRACEBACK] = data["traceback"]
    return error


def _own(data: Data, *, programs: bool) -> BaseException | None:
    """Of the recorded type, or None."""
    kind = find_class(data["type"])
    if kind is None or not issubclass(kind, BaseException if programs else Exception):
        return None
    try:
        if "members" in data:
            members = [revive(member, programs=programs) for member in data["members"]]
            return _with_attributes(_made(kind, (data["group"], members)), data)
        return _rebuilt(kind, data) if "args" in data else None
    except Exception:  # the class has changed since; its record is still readable
        return None


def _rebuilt(kind: type[BaseException], data: Data) -> BaseException:
    args = tuple(decode(data["args"]))
    error: BaseException = kind(*args) if data["called"] else _made(kind, args)
    if not isinstance(error, kind):
        raise TypeError(f"{kind} made a {type(error)}")
    return _with_attributes(error, data)


def _with_attributes(error: BaseException, data: Data) -> BaseException:
    for name, text in data.get("state", {}).items():
        object.__setattr__(error, name, decode(text))
    if joints := _joints_of(error):
        joints.together(error)
    return error


def _joints_of(error: BaseException) -> Joints | None:
    return next((JOINTS[base] for base in type(error).__mro__ if base in JOINTS), None)


def _made(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """An instance as the built-in class it descends from makes it: OSError's errno and the like are set."""
    native: Any = native_base(kind)
    error: BaseException = native.__new__(kind, *args)
    native.__init__(error, *args)
    return error


def _reduced(error: BaseException) -> Reduced:
    if joints := _joints_of(error):
        return Reduced(False, *joints.apart(error))
    return _reduced_by_its_class(error) or _reduced_natively(error)


def _reduced_by_its_class(error: BaseException) -> Reduced | None:
    if not _has_own_reduce(type(error)):
        return None
    try:
        parts = error.__reduce_ex__(2)
    except Exception:  # pickle would fail on it; its args and attributes are still there
        return None
    match parts:
        case (kind, tuple(args)) if kind is type(error):
            return Reduced(True, args, {})
        case (kind, tuple(args), dict() | None as state) if kind is type(error):
            return Reduced(True, args, _attributes(state))
    return None


def _reduced_natively(error: BaseException) -> Reduced:
    native: Any = native_base(type(error))
    parts = native.__reduce__(error)
    return Reduced(False, parts[1], _attributes(parts[2] if len(parts) > 2 else None) | _slots(error))


def _has_own_reduce(kind: type) -> bool:
    own = (base for base in kind.__mro__ if base.__flags__ & HEAP_TYPE)
    return any("__reduce__" in base.__dict__ or "__reduce_ex__" in base.__dict__ for base in own)


def _attributes(state: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (state or {}).items() if name not in NOT_STATE}


def _slots(error: BaseException) -> dict[str, Any]:
    names: list[str] = []
    for base in type(error).__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return {name: getattr(error, name) for name in names if hasattr(error, name) and name != "__dict__"}


def _encoded(value: Any) -> str | None:
    try:
        return encode(value)
    except Exception:  # whatever it raises when looked at, the error it belongs to must be described
        return None


def _storable(args: tuple[Any, ...], *, called: bool) -> tuple[list[Any], list[str]]:
    """Text in place of what is not stored, and what that was: an `except` goes by the type of the error.

    A constructor is given no text for an object.
    """
    stored: list[Any] = []
    replaced: list[str] = []
    for index, argument in enumerate(args):
        stored.append(_shortened(argument))
        if not called and _encoded(stored[-1]) is None:
            stored[-1] = "".join(quoted(argument, ARGUMENT_TEXT))
            replaced.append(f"args[{index}] ({type_name(type(argument))})")
    return stored, replaced


def _shortened(argument: Any) -> Any:
    """Long texts are cut, and those made plain whose class is not stored: the error's type is worth more."""
    if not isinstance(argument, str) or (len(argument) <= ARGUMENT_TEXT and _encoded(argument) is not None):
        return argument
    return excerpt(argument, ARGUMENT_TEXT)


def _loss(data: Data) -> list[str]:
    lost = data.get("lost")
    return [f"not stored with this error: {', '.join(lost)}"] if lost else []
