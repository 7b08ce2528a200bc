"""Real connections, each in a thread of its own, brought into the order that a test wants to see.

Nothing waits for a time: a side that shall be blocked is proved to be so by PostgreSQL, which names the
sessions that it waits for, before the other side lets go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connection, connections, transaction

LONGEST = 30  # seconds until a side that hangs fails its test
GLANCE = 0.002  # seconds between two looks at a side that is not blocked yet

T = TypeVar("T")


class Side:
    """One thread with its connection; what it is given to do, it does in that order."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._atomic: transaction.Atomic | None = None
        self.pid: int = self.do(_own_pid)

    def start(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        return self._thread.submit(call, *args, **kwargs)

    def do(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return self.start(call, *args, **kwargs).result(LONGEST)

    def blocked(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        """Begin a call, and return once it waits for a lock that another session holds."""
        future = self.start(call, *args, **kwargs)
        for _ in range(int(LONGEST / GLANCE)):
            if _waits(self.pid):
                return future
            if wait([future], GLANCE).done:
                raise AssertionError(
                    f"it was not blocked: it ended with {future.exception() or future.result()!r}"
                )
        raise AssertionError("it was neither blocked nor did it end")

    def begin(self) -> None:
        self._atomic = transaction.atomic()
        self.do(self._atomic.__enter__)

    def commit(self) -> None:
        self._end()

    def rollback(self) -> None:
        self.do(transaction.set_rollback, True)
        self._end()

    def close(self) -> None:
        if self._atomic is not None:
            self.rollback()
        self.do(connections.close_all)
        self._thread.shutdown()

    def _end(self) -> None:
        atomic, self._atomic = self._atomic, None
        assert atomic is not None, "no transaction was begun"
        self.do(atomic.__exit__, None, None, None)


class Race:
    """The sides of one test; `commits=False` where the side that came first takes its work back."""

    def __init__(self) -> None:
        self.sides: list[Side] = []

    def side(self) -> Side:
        self.sides.append(Side())
        return self.sides[-1]

    @contextmanager
    def holding(self, call: Callable[..., T], *args: Any, commits: bool = True, **kwargs: Any) -> Iterator[T]:
        """Do it in a transaction that stays open until the block ends."""
        first = self.side()
        first.begin()
        yield first.do(call, *args, **kwargs)
        first.commit() if commits else first.rollback()

    def blocked(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        return self.side().blocked(call, *args, **kwargs)

    def at_once(self, calls: list[Callable[[], T]]) -> list[T | BaseException]:
        """Let all sides go together; what each returned or raised."""
        sides = [self.side() for _ in calls]
        futures = [side.start(call) for side, call in zip(sides, calls, strict=True)]
        return [future.exception(LONGEST) or future.result() for future in futures]

    def close(self) -> None:
        for side in self.sides:
            side.close()


def _own_pid() -> int:
    connection.ensure_connection()
    pid: int = connection.connection.info.backend_pid
    return pid


def _waits(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_blocking_pids(%s) <> '{}'", [pid])
        return bool(cursor.fetchone()[0])


__all__ = ["Future", "Race", "Side", "TimeoutError"]
