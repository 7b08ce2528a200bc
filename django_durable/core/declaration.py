"""What a decorator says about a function: the data, without the machinery."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django_durable.core.identifiers import check_identifier
from django_durable.core.options import Options, duration
from django_durable.core.payloads.excerpt import quoted
from django_durable.core.retries import RetryPolicy
from django_durable.exceptions import InvalidIdentifier, InvalidOption

_signature = lru_cache(maxsize=1024)(inspect.signature)
_is_async = lru_cache(maxsize=1024)(inspect.iscoroutinefunction)

KEY = "idempotency_key"
OURS = "durable."  # begins the names of what the package records
BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def refuse_declared(function: object, decorator: str) -> None:
    """Raise TypeError for what a decorator of the package made: one of the two would lose its options."""
    declared = getattr(function, "declaration", None)
    if isinstance(declared, StepDeclaration | WorkflowDeclaration) and not inspect.isfunction(function):
        raise TypeError(
            f"@{decorator} takes a plain function, and {quoted(function)} is declared already: "
            "give all options to one decorator, or call it in a function of its own"
        )


def path_of(function: object, decorator: str) -> str:
    """Where a function was defined; raises TypeError for what a decorator cannot take."""
    where = [getattr(function, name, None) for name in ("__module__", "__qualname__")]
    if callable(function) and not isinstance(function, type) and all(type(part) is str for part in where):
        return ".".join(map(str, where))
    raise TypeError(
        f"@{decorator} takes a function, which {quoted(function)} is not; options are given by their names, "
        f'as in @{decorator}(name="…"), and a partial or a callable object is called by a function'
    )


def several(name: str, given: Iterable[str]) -> tuple[str, ...]:
    """Raises InvalidOption for one text, whose letters it would be otherwise."""
    if isinstance(given, str):
        raise InvalidOption(f"{name} must be several texts, as in [{quoted(given)}]; it is one text")
    return tuple(given)


def _check_name(kind: str, name: str) -> None:
    check_identifier(kind, name)
    if name.startswith(OURS):
        raise InvalidIdentifier(
            kind,
            f"must not begin with {OURS!r}, as what the package itself records does; it is {quoted(name)}",
        )


def _check_body(what: str, function: Callable[..., Any]) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidOption(
            f"{what} yields, so calling it would run nothing of it: return a list, or write to a stream"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDeclaration:
    """`timeout` is for each attempt, a timedelta or seconds; it is kept as seconds."""

    name: str
    function: Callable[..., Any]
    atomic: bool = False
    retries: RetryPolicy
    timeout: float | None = None
    title: str = field(init=False)  # in messages
    is_async: bool = field(init=False)
    wants_idempotency_key: bool = field(init=False)

    def __post_init__(self) -> None:
        _check_name("step name", self.name)
        _check_body(f"step {self.name!r}", self.function)
        key = _signature(self.function).parameters.get(KEY)
        wants_key = key is not None and key.kind is not inspect.Parameter.POSITIONAL_ONLY
        object.__setattr__(self, "wants_idempotency_key", wants_key)
        object.__setattr__(self, "title", f"step {self.name!r}")
        object.__setattr__(self, "is_async", _is_async(self.function))
        object.__setattr__(self, "timeout", _seconds(f"the timeout of step {self.name!r}", self.timeout))
        if self.atomic and self.is_async:
            raise InvalidOption(
                f"step {self.name!r} is async, and Django has no async transactions: make it a plain def"
            )

    @property
    def needs_idempotency_key(self) -> bool:
        """Whether it wants one and has no default of its own."""
        wanted = self.wants_idempotency_key
        return wanted and _signature(self.function).parameters[KEY].default is inspect.Parameter.empty

    def lacks_idempotency_key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether it wants one and this call gives none, by name or by position."""
        if not self.wants_idempotency_key or KEY in kwargs:
            return False
        positional = [
            parameter.name
            for parameter in _signature(self.function).parameters.values()
            if parameter.kind in BY_POSITION
        ]
        return KEY not in positional[: len(args)]


def _seconds(name: str, given: timedelta | float | None) -> float | None:
    length = duration(name, given)
    if length == timedelta(0):
        raise InvalidOption(f"{name} must be longer than nothing")
    return None if length is None else length.total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDeclaration:
    """A workflow function with its defaults; `origin` tells two functions of one name apart."""

    name: str
    function: Callable[..., Any]
    origin: str
    aliases: tuple[str, ...] = ()
    options: Options
    retries: RetryPolicy

    def __post_init__(self) -> None:
        _check_name("workflow name", self.name)
        for alias in self.aliases:  # which may name what was written before names were held to a rule
            check_identifier("workflow name", alias)
        _check_body(f"workflow {self.name!r}", self.function)

    @property
    def is_async(self) -> bool:
        return _is_async(self.function)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what may be passed by position, in order."""
        given = _signature(self.function).parameters.values()
        return tuple(parameter.name for parameter in given if parameter.kind in BY_POSITION)

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What each parameter gets from a call, defaults too; raises TypeError."""
        bound = _signature(self.function).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments

    def check_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise TypeError now, in the caller, rather than in a worker later."""
        try:
            _signature(self.function).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"workflow {self.name!r} cannot be called so: {error}") from None
