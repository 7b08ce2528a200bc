"""The numbers that the calls of one execution take, and the order in which they took them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django_durable.core.branches import Branch
from django_durable.exceptions import TooManyBranches, UncountedTask, UnorderedTask


class Numbering:
    """A replay may take the numbers of its branches in another order, and takes the same ones."""

    def __init__(self, workflow_id: str) -> None:
        self.workflow_id = workflow_id
        self.body = Branch()
        self.last = 0
        self._order: dict[int, int] | None = None  # kept from the first call of a branch on
        self._noted: list[int] | None = None

    @property
    def branch(self) -> Branch:
        """Of the code that calls."""
        place = self._place
        return self.body if place is None else place.branch

    @property
    def next(self) -> int:
        return self.branch.next_number

    @property
    def _place(self) -> Place | None:
        """Within an async body."""
        place = place_here.get()
        return place if place is not None and place.numbering is self else None

    def take(self) -> int:
        place = self._place
        if place is not None and place.is_of_another_task():
            raise UncountedTask(self.workflow_id)
        branch = self.body if place is None else place.branch
        if not branch.has_place:
            raise UnorderedTask(self.workflow_id)
        number = self.last = branch.take_number()
        if self._noted is not None:
            self._noted.append(number)
        if self._order is None and branch is not self.body:
            self._order = {taken: taken for taken in range(1, self.body.calls + 1)}
        if self._order is not None:
            if number in self._order:
                raise TooManyBranches(self.workflow_id, number)
            self._order[number] = len(self._order) + 1
        return number

    @contextmanager
    def noting(self) -> Iterator[list[int]]:
        """The numbers that are taken within the block."""
        noted: list[int] = []
        self._noted = noted
        try:
            yield noted
        finally:
            self._noted = None

    def has_taken(self, number: int) -> bool:
        return number <= self.body.calls if self._order is None else number in self._order

    @property
    def has_branches(self) -> bool:
        return self._order is not None

    def ordinals(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        """As which call of this execution each number was taken."""
        return numbers if self._order is None else tuple(self._order[number] for number in numbers)

    def taken_from(self, ordinal: int) -> list[int]:
        """The numbers that were taken then and since, in order."""
        return list(self._order or ())[ordinal - 1 :]

    def numbers(self, ordinals: tuple[int, ...]) -> list[int]:
        taken = list(self._order or ())
        return [taken[ordinal - 1] for ordinal in ordinals]


@dataclass(slots=True, eq=False)
class Place:
    """Where code stands that an async body runs, in one task: the first that calls from there."""

    numbering: Numbering
    branch: Branch
    task: asyncio.Task[Any] | None = None

    def is_of_another_task(self) -> bool:
        """Whether the code that calls runs in a task that nobody counts apart, with this one's context."""
        task = asyncio.current_task()
        self.task = self.task or task
        return self.task is not task


place_here: ContextVar[Place | None] = ContextVar("durable_place", default=None)
