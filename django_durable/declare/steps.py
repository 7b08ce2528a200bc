"""The decorator `step`, and what it makes of a function."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Generic, ParamSpec, TypeVar, overload

from asgiref.sync import markcoroutinefunction

from django_durable.core.declaration import StepDeclaration, path_of, refuse_declared
from django_durable.core.retries import RetryOn, RetryPolicy
from django_durable.declare.bound_step import BoundStep
from django_durable.declare.likeness import take_after
from django_durable.engine.execution.attempts import call_plainly
from django_durable.engine.execution.context import current
from django_durable.engine.execution.drive import twin

P = ParamSpec("P")
R = TypeVar("R")


class Step(Generic[P, R]):
    """What `@step` makes of a function: durable inside a workflow, plain anywhere else."""

    def __init__(self, declaration: StepDeclaration) -> None:
        self.declaration = declaration
        take_after(self, declaration.function)
        if declaration.is_async:
            markcoroutinefunction(self)  # as its plain calls are awaited

    @property
    def name(self) -> str:
        return self.declaration.name

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        context = current()
        result: R
        if context is None:
            result = call_plainly(self.declaration, args, kwargs)
        else:
            result = context.call_step(self.declaration, args, kwargs)
        return result

    acall = twin(__call__, "acall")

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else BoundStep(self, instance)

    def __repr__(self) -> str:
        return f"<step {self.name}>"


@overload
def step(function: Callable[P, R], /) -> Step[P, R]: ...
@overload
def step(
    *,
    name: str | None = None,
    atomic: bool = False,
    max_attempts: int = 1,
    interval: float = 1.0,
    backoff: float | Callable[..., Any] = 2.0,
    max_interval: float = 3600.0,
    retry_on: RetryOn | None = None,
    timeout: timedelta | float | None = None,
) -> Callable[[Callable[P, R]], Step[P, R]]: ...
def step(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    atomic: bool = False,
    max_attempts: int = 1,
    interval: float = 1.0,
    backoff: float | Callable[..., Any] = 2.0,
    max_interval: float = 3600.0,
    retry_on: RetryOn | None = None,
    timeout: timedelta | float | None = None,
) -> Any:
    """Make a function a step: run once, its result recorded, never run again once recorded.

    A crash between its effect and the record runs it again, unless `atomic=True`: then its writes to the
    durable database and the record commit together. Intervals and `timeout` are seconds; `max_attempts`
    counts the first. A parameter `idempotency_key` is filled in, the same at every attempt and recovery; a
    plain call, outside a body or inside another step, gets one of its own where the parameter has no default.
    """
    retries = RetryPolicy(
        max_attempts=max_attempts,
        interval=interval,
        backoff=backoff,
        max_interval=max_interval,
        retry_on=retry_on,
    )

    def declare(function: Callable[..., Any]) -> Step[..., Any]:
        return Step(
            StepDeclaration(
                name=_step_name(function, name),
                function=function,
                atomic=atomic,
                retries=retries,
                timeout=timeout,  # type: ignore[arg-type]  # the declaration keeps it as seconds
            )
        )

    return declare if function is None else declare(function)


def _step_name(function: Callable[..., Any], name: str | None) -> str:
    refuse_declared(function, "step")
    if name is None or not callable(function):
        path_of(function, "step")
    return function.__qualname__.replace("<locals>.", "") if name is None else name
