"""Several claimers on connections of their own, each stopped before every statement until it is its turn."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections

from django_durable import sql
from django_durable.models.plans import SETTINGS
from tests.sent import plan_of

OF_THE_FIRST = re.compile(r"%\(0_")  # of several statements sent together, the parameters of the first
NAMES = {sql.load(name): name for name in sql.statements()}  # read now: a test may break one later
PATIENCE = 5.0  # seconds after which an actor that does not come back is taken to wait for a lock


class Stuck(AssertionError):
    """An actor neither ended nor came to its next statement: a statement waits, or nothing ends it."""


class Stage:
    """Actors run in threads; only the one whose turn it is moves, from one statement to the next.

    Threads of a crew keep their connections, so that many short stages connect once.
    """

    def __init__(self, crew: Executor | None = None) -> None:
        self._crew = crew
        self._changed = threading.Condition()
        self._turn: str | None = None
        self._next: dict[str, str | None] = {}  # what each actor is about to send; None: it ended
        self._threads: dict[str, threading.Thread] = {}
        self._closed = False
        self.results: dict[str, Any] = {}

    def close(self) -> None:
        """Let actors that still stand before a statement leave, their transactions rolled back."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads.values():
            thread.join(PATIENCE)

    def enter(self, name: str, act: Callable[[], Any]) -> None:
        """Let an actor come to its first statement."""
        if self._crew is not None:
            self._crew.submit(self._act, name, act)
        else:
            self._threads[name] = thread = threading.Thread(target=self._act, args=(name, act), daemon=True)
            thread.start()
        with self._changed:
            self._await(lambda: name in self._next, name)

    def step(self, name: str) -> None:
        """Let the actor send the statement before which it stands."""
        with self._changed:
            if self._next[name] is None:
                return
            self._turn = name
            self._changed.notify_all()
            self._await(lambda: self._turn is None, name)

    def run_to(self, name: str, statement: str) -> None:
        """Let the actor come to this statement, or to its end."""
        while self._next[name] not in (statement, None):
            self.step(name)

    def finish(self, *names: str) -> None:
        for name in names or tuple(self._next):
            while self._next[name] is not None:
                self.step(name)
            if isinstance(self.results[name], BaseException):
                raise self.results[name]

    def shuffle(self, rng: random.Random) -> None:
        """Let all act, a statement of a randomly chosen one at a time."""
        while acting := sorted(name for name, statement in self._next.items() if statement is not None):
            self.step(rng.choice(acting))
        self.finish()

    def _act(self, name: str, act: Callable[[], Any]) -> None:
        try:
            with connection.execute_wrapper(lambda *call: self._send(name, *call)):
                self.results[name] = act()
        except BaseException as error:
            self.results[name] = error
        finally:
            if self._crew is None:
                connections.close_all()
            with self._changed:
                self._next[name] = None
                self._turn = None if self._turn == name else self._turn
                self._changed.notify_all()

    def _send(self, name: str, execute: Callable[..., Any], text: str, *rest: Any) -> Any:
        with self._changed:
            self._next[name] = statement_name(text)
            self._turn = None if self._turn == name else self._turn
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._turn == name or self._closed)
        if self._closed:
            raise Stuck(f"{name} was not let go on")
        return execute(text, *rest)

    def _await(self, fact: Callable[[], bool], name: str) -> None:
        if not self._changed.wait_for(fact, PATIENCE):
            raise Stuck(f"{name} does not come back from {self._next.get(name)}")


def statement_name(text: str) -> str:
    """Which statement of the package this is, the first of several; others keep their text."""
    first = next(part for part in text.split(";\n") if plan_of(part) not in SETTINGS)
    return plan_of(first) or NAMES.get(OF_THE_FIRST.sub("%(", first), text)


@contextmanager
def held(statement: str, *params: Any) -> Iterator[None]:
    """Hold what a statement locks from another connection, and let go of it unchanged."""
    peer = connection.copy()
    try:
        peer.set_autocommit(False)
        with peer.cursor() as cursor:
            cursor.execute(statement, params)
        yield
        peer.rollback()
    finally:
        peer.close()


def empty_tables() -> None:
    with connection.cursor() as cursor:
        for table in "workflow_status", "queue", "limit", "rate_start":
            cursor.execute(f"DELETE FROM durable_{table}")
