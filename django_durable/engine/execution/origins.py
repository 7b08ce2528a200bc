"""Which recorded failures led to the end of a body: what a retry of the whole has to do again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Origin(NamedTuple):
    """A retry drops the records of `steps`, and every record from `then` on."""

    steps: tuple[int, ...]
    then: int

    @classmethod
    def read(cls, data: Any) -> Origin | None:
        """What `written` gave; None for anything else."""
        try:
            return cls(tuple(int(step) for step in data["steps"]), int(data["then"]))
        except (KeyError, TypeError, ValueError):
            return None

    def written(self) -> dict[str, Any]:
        return {"steps": list(self.steps), "then": self.then}


class Met(NamedTuple):
    """A recorded failure as the body met it; `reach` is the last number that was taken by then.

    What has a number up to there was called whatever became of these steps, so a retry may keep it.
    """

    error: BaseException  # kept, so that its identity stays its own
    steps: tuple[int, ...]
    reach: int

    @property
    def then(self) -> int:
        return self.reach if self.steps == (self.reach,) else self.reach + 1


@dataclass(slots=True)
class Failures:
    """The recorded failures that one execution of a body met."""

    _met: dict[int, Met] = field(default_factory=dict)

    def note(self, error: BaseException, steps: tuple[int, ...], reach: int) -> None:
        if steps:
            self._met[id(error)] = Met(error, steps, reach)

    def origin_of(self, error: BaseException, calls: int) -> Origin | None:
        """Where `error` came from, else what failed last and was followed by no success; None: nothing."""
        led = self._behind(error, set()) or self._trailing(calls)
        if not led:
            return None
        steps = sorted({step for met in led for step in met.steps})
        return Origin(tuple(steps), min(met.then for met in led))

    def _behind(self, error: BaseException | None, seen: set[int]) -> list[Met]:
        """The nearest recorded failures along members, causes and contexts."""
        if error is None or id(error) in seen:
            return []
        seen.add(id(error))
        if id(error) in self._met:
            return [self._met[id(error)]]
        return (
            self._behind_any(_members(error), seen)
            or self._behind(error.__cause__, seen)
            or self._behind(error.__context__, seen)
        )

    def _behind_any(self, errors: Iterable[BaseException], seen: set[int]) -> list[Met]:
        return [met for error in errors for met in self._behind(error, seen)]

    def _trailing(self, calls: int) -> list[Met]:
        found: list[Met] = []
        for met in sorted(self._met.values(), key=lambda met: met.reach, reverse=True):
            if met.reach < calls:
                break
            found.append(met)
            calls = min(calls, min(met.steps) - 1)
        return found


def _members(error: BaseException) -> tuple[BaseException, ...]:
    return error.exceptions if isinstance(error, BaseExceptionGroup) else ()
