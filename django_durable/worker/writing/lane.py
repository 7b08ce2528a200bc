"""A line of writes: sent together, kept together, decided one by one only where one is bad."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from django.db import Error, InterfaceError, OperationalError

from django_durable.core.portions import CHARACTERS_A_STATEMENT, ROWS_A_STATEMENT
from django_durable.engine.execution.conflicts import is_conflict
from django_durable.worker.trouble import sqlstate

TRIES = 3
# classes of SQLSTATE that mean a row that cannot be stored, not a database that stores nothing just now
POISON = ("0A", "22", "23", "54", "P0")

T = TypeVar("T")


class Lane(Generic[T]):
    """`write` sends some, answers them and returns those that go next; or it raises, and answered none.

    `refuse` answers one that cannot be stored. `size` says how many characters of a statement one takes.
    """

    def __init__(
        self,
        write: Callable[[Sequence[T]], Sequence[T] | None],
        refuse: Callable[[T, Exception], None],
        size: Callable[[T], int],
    ) -> None:
        self._write = write
        self._refuse = refuse
        self._size = size
        self._queue: deque[T] = deque()
        self._batch: list[T] = []
        self.append = self._queue.append

    def __len__(self) -> int:
        """How many are not answered yet."""
        return len(self._queue) + len(self._batch)

    def put_first(self, some: Sequence[T]) -> None:
        self._queue.extendleft(reversed(some))

    def flush(self, count: int) -> None:
        """Send the first `count`; raises what keeps the database from storing anything, and keeps those."""
        while count > 0:
            self._batch = self._take(min(count, ROWS_A_STATEMENT))
            taken = len(self._batch)
            try:
                self._send()
            finally:
                count -= taken - len(self._batch)
                self.put_first(self._batch)
                self._batch = []

    def _take(self, most: int) -> list[T]:
        """One at least, however large it is."""
        taken: list[T] = []
        characters = 0
        while len(taken) < most and characters < CHARACTERS_A_STATEMENT:
            taken.append(self._queue.popleft())
            characters += self._size(taken[-1])
        return taken

    def _send(self) -> None:
        try:
            self._batch = list(self._try(self._batch))
        except Exception as error:
            if not is_poison(error):
                raise
            self._send_singly()

    def _send_singly(self) -> None:
        while self._batch:
            try:
                self._batch[:1] = self._try(self._batch[:1])
            except Exception as error:
                if not is_poison(error):
                    raise
                self._refuse(self._batch[0], error)
                del self._batch[0]

    def _try(self, some: Sequence[T]) -> Sequence[T]:
        for _ in range(TRIES - 1):
            try:
                return self._write(some) or ()
            except Error as error:
                if not (is_conflict(error) or (len(some) == 1 and is_poison(error))):
                    raise
        return self._write(some) or ()


def is_poison(error: Exception) -> bool:
    """Whether it is about the values. An error without a code comes from this side."""
    code = sqlstate(error)
    if code is not None:
        return code.startswith(POISON)
    return not isinstance(error, OperationalError | InterfaceError)
