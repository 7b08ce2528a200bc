"""The decorator `workflow`, and what it makes of a function: a way to put runs of it in line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from asgiref.sync import sync_to_async

from django_durable.core.declaration import WorkflowDeclaration, path_of, refuse_declared, several
from django_durable.core.options import Options
from django_durable.core.payloads.excerpt import quoted
from django_durable.core.retries import RetryOn, RetryPolicy
from django_durable.declare.likeness import take_after
from django_durable.engine.declared import workflows
from django_durable.engine.execution.drive import perform, twin
from django_durable.exceptions import InvalidOption

if TYPE_CHECKING:
    from django_durable.engine.handle import Handle

P = ParamSpec("P")
R = TypeVar("R")


def _children() -> ModuleType:
    # They need the models, and this module is imported before Django has loaded them.
    from django_durable.engine.launching import children

    return children


class Enqueuer(Generic[P]):
    """A workflow function together with the options its next runs get."""

    def __init__(self, declaration: WorkflowDeclaration, options: Options) -> None:
        self.declaration = declaration
        self.options = options

    def using(self, **options: Any) -> Enqueuer[P]:
        """The same with other options; raises InvalidOption or InvalidIdentifier, naming the option."""
        return Enqueuer(self.declaration, self.options.changed(**options))

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Handle:
        """Put a run in line, in the caller's transaction: no commit, no run."""
        self.declaration.check_call(args, kwargs)
        handle: Handle = _children().enqueue(self.declaration.name, self.options, (args, kwargs))
        return handle

    aenqueue = twin(enqueue)

    def start(self, /, *args: P.args, **kwargs: P.kwargs) -> Handle:
        """Run it in this process, at once after the caller's commit, and durably; not on a limited queue."""
        from django_durable.engine.launching import local

        self.declaration.check_call(args, kwargs)
        return local.start(self.declaration.name, self.options, (args, kwargs))

    async def astart(self, /, *args: P.args, **kwargs: P.kwargs) -> Handle:
        return await sync_to_async(lambda: self.start(*args, **kwargs))()

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Inside a workflow body: start a child and wait for its result."""
        self.declaration.check_call(args, kwargs)
        declaration = self.declaration
        return _children().call(
            declaration.name,
            self.options,
            (args, kwargs),
            is_async=declaration.is_async,
            instead=f"{getattr(declaration.function, '__name__', 'its')}.acall()",
        )

    acall = twin(__call__, "acall")

    def debounce(
        self, key: str, period: timedelta | float, max_wait: timedelta | float | None = None
    ) -> Debounced[P]:
        """Calls of this function with one key, in one queue, become one run.

        It begins once none came for `period`, or `max_wait` after the first.
        """
        return Debounced(self, key, period, max_wait)

    def enqueue_many(self, calls: Iterable[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[Handle]:
        """Put many runs in line, one INSERT a thousand rows; each call is (args, kwargs)."""
        checked = [_call(number, call) for number, call in enumerate(calls)]
        for args, kwargs in checked:
            self.declaration.check_call(args, kwargs)
        handles: list[Handle] = _children().enqueue_many(self.declaration.name, self.options, checked)
        return handles

    aenqueue_many = twin(enqueue_many)


class Debounced(Generic[P]):
    """What `debounce` gives: `enqueue` puts the key's waiting run off, and replaces its arguments."""

    def __init__(self, enqueuer: Enqueuer[P], *rule: Any) -> None:
        self.enqueuer = enqueuer
        self.rule = rule

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Handle:
        """The one run of the key that has not started yet."""
        from django_durable.engine.launching import debouncing

        declaration, options = self.enqueuer.declaration, self.enqueuer.options
        declaration.check_call(args, kwargs)
        handle: Handle = perform(
            "enqueue()",
            lambda: debouncing.enqueue(
                debouncing.Debounce(*self.rule), declaration.name, options, (args, kwargs)
            ),
        )
        return handle

    aenqueue = twin(enqueue)


class Workflow(Enqueuer[P], Generic[P, R]):
    """What `@workflow` makes of a function."""

    def __init__(self, declaration: WorkflowDeclaration) -> None:
        super().__init__(declaration, declaration.options)
        take_after(self, declaration.function)

    @property
    def name(self) -> str:
        return self.declaration.name

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the body here and now, as a plain function: nothing is recorded."""
        result: R = self.declaration.function(*args, **kwargs)
        return result

    def __repr__(self) -> str:
        return f"<workflow function {self.name}>"


@overload
def workflow(function: Callable[P, R], /) -> Workflow[P, R]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
    timeout: timedelta | float | None = None,
    max_attempts: int = 1,
    backoff: float | Callable[..., Any] = 2.0,
    retry_on: RetryOn | None = None,
    aliases: Iterable[str] = (),
    limit_key: str | None = None,
) -> Callable[[Callable[P, R]], Workflow[P, R]]: ...
def workflow(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
    timeout: timedelta | float | None = None,
    max_attempts: int = 1,
    backoff: float | Callable[..., Any] = 2.0,
    retry_on: RetryOn | None = None,
    aliases: Iterable[str] = (),
    limit_key: str | None = None,
) -> Any:
    """Register a function as a workflow; raises DuplicateDeclaration if its name is taken.

    The body must make the same durable calls in the same order whenever it runs again; everything that may
    differ between runs (the clock, the network, random numbers, the database) belongs in steps.
    """
    options = Options(
        queue=queue, priority=priority, timeout=timeout, max_attempts=max_attempts, limit_key=limit_key
    )
    retries = RetryPolicy(max_attempts=max_attempts, backoff=backoff, retry_on=retry_on)

    def declare(function: Callable[..., Any]) -> Workflow[..., Any]:
        refuse_declared(function, "workflow")
        path = path_of(function, "workflow")
        declaration = WorkflowDeclaration(
            name=path if name is None else name,
            function=function,
            origin=path,
            aliases=several("aliases", aliases),
            options=options,
            retries=retries,
        )
        workflows.add(declaration)
        return Workflow(declaration)

    return declare if function is None else declare(function)


def _call(number: int, given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        args, kwargs = given
        return tuple(args), dict(kwargs)
    except (TypeError, ValueError):
        raise InvalidOption(
            f"call {number} of enqueue_many() has to be a pair of args and kwargs, like ((1,), {{}}); "
            f"it is {quoted(given)}"
        ) from None
