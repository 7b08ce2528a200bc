"""The verbs of `transitions` where a body may be the caller: there each is a recorded step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django_durable.engine import transitions
from django_durable.engine.execution.context import current
from django_durable.engine.execution.drive import perform
from django_durable.engine.execution.effects import Done, effect
from django_durable.engine.execution.operations import Operation, Raised, at_once
from django_durable.engine.execution.ownership import guarded
from django_durable.exceptions import Cancel


def as_step(verb: str, act: Callable[[], Any], becomes: Callable[[Any], Any] = lambda value: value) -> Any:
    """What the verb gives; inside a body it is a step, and done once whatever happens to its worker."""
    return perform(f"{verb}()", lambda: _converted(_begin(verb, act), becomes))


def _begin(verb: str, act: Callable[[], Any]) -> Operation:
    context = current()
    if context is None:
        return at_once(lambda: guarded(act))
    return effect(context, f"durable.{verb}", lambda number: Done(act()), own_row_first=False)


def _converted(operation: Operation, becomes: Callable[[Any], Any]) -> Operation:
    value = yield from operation
    return value if isinstance(value, Raised) else becomes(value)


def cancel(ids: Sequence[str], *, reason: str, cascade: bool, using: str) -> Any:
    """The same for `cancel`. The run whose body asks ends last, by raising Cancel there."""
    context = current()
    own = None if context is None else context.run.id
    if not cascade and set(ids) == {own}:
        raise Cancel(reason)

    def act() -> list[str]:
        return transitions.cancel(ids, reason=reason, cascade=cascade, using=using, own=own)

    def ended(changed: list[str]) -> list[str]:
        if own in changed:
            raise Cancel(reason or (transitions.HEIR if own not in ids else ""))
        return changed

    return as_step("cancel", act, ended)
