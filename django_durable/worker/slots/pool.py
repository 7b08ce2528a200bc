"""The slots of a worker: threads that execute runs, each run in a context and sessions of its own."""

from __future__ import annotations

import contextvars
import logging
import math
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue

from django.db import connections

from django_durable.core.fence import Fence
from django_durable.core.outcomes import Deferred, Outcome
from django_durable.core.run import Run
from django_durable.engine.execution.runner import Runner
from django_durable.engine.execution.writes import Ending, Recorder
from django_durable.worker.slots import sessions
from django_durable.worker.slots.tally import Tally, word_for

SET_ASIDE = 5.0  # seconds for a run whose execution ended in a way that is not an outcome

logger = logging.getLogger("django_durable.worker")


class Pool:
    """At most `slots` runs at a time, and `most` in all. Threads start when they are first needed."""

    def __init__(
        self, slots: int, recorder: Recorder, tally: Tally, using: str, *, most: float = math.inf
    ) -> None:
        self.slots = slots
        self.most = most
        self.tally = tally
        self.on_slot_free: Callable[[], None] = lambda: None
        self.on_end: Callable[[Run, Outcome | None], None] = lambda run, outcome: None
        self._recorder = recorder
        self._runner = Runner(recorder, using)
        self._waiting: SimpleQueue[Run | None] = SimpleQueue()
        self._busy: dict[Fence, Run] = {}
        self._owned: dict[Fence, Run] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._is_open = True

    @property
    def free_slots(self) -> int:
        """Slots to claim for: those whose body ended, less the outcomes that wait beyond as many as slots."""
        unwritten = len(self._owned) - len(self._busy)
        free = self.slots - len(self._busy) - max(0, unwritten - self.slots)
        return free if self.most == math.inf else min(free, int(self.most) - self.tally.done["claimed"])

    @property
    def is_spent(self) -> bool:
        """Whether it took as many as it may."""
        return self.tally.done["claimed"] >= self.most

    @property
    def is_idle(self) -> bool:
        """Whether every run is over and its outcome written."""
        return not self._owned

    @property
    def owned(self) -> list[Run]:
        """The runs whose outcome is not written."""
        return list(self._owned.values())

    def submit(self, run: Run) -> bool:
        """Execute the run; False where the pool is closed or has no thread: then the caller gives it back."""
        with self._lock:
            if not self._is_open:
                return False
            if len(self._busy) >= len(self._threads) and len(self._threads) < self.slots:
                self._start_thread()
            if not self._threads:
                return False
            self.tally.take(run)
            self._owned[run.fence] = run
            self._busy[run.fence] = run
            self._waiting.put(run)
        return True

    def close(self) -> list[Run]:
        """Take no more; returns the runs that no slot had begun, which are no longer the pool's."""
        with self._lock:
            self._is_open = False
            unbegun = list(self._drain())
            for _ in self._threads:
                self._waiting.put(None)
        for run in unbegun:
            del self._busy[run.fence]
        self.disown(unbegun)
        return unbegun

    def disown(self, runs: list[Run]) -> None:
        """Forget runs that were given back although their bodies have not ended."""
        for run in runs:
            self._end(run.fence, "released")

    def join(self, deadline: float) -> bool:
        """Wait for all threads until a monotonic instant; False if one is still busy then."""
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _start_thread(self) -> None:
        name = f"durable-slot-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._work, name=name)
        try:
            thread.start()
        except RuntimeError as error:  # the system has none left just now; what there is goes on
            extra = {"event": "no_thread", "threads": len(self._threads)}
            logger.error("no thread can be started for another slot: %s", error, extra=extra)
        else:
            self._threads.append(thread)

    def _drain(self) -> list[Run]:
        runs: list[Run] = []
        while True:
            try:
                run = self._waiting.get_nowait()
            except Empty:
                return runs
            if run is not None:
                runs.append(run)

    def _work(self) -> None:
        sessions.adopt_thread()
        try:
            while True:
                try:
                    run = self._waiting.get(timeout=sessions.patience())
                except Empty:
                    sessions.rest()
                    continue
                if run is None:
                    return
                self._occupy(run)
        finally:
            connections.close_all()

    def _occupy(self, run: Run) -> None:
        try:
            sessions.refresh()
            contextvars.copy_context().run(self._runner.run, run, partial(self._told, run.fence))
        except BaseException as error:  # the slot outlives whatever a body does
            self._set_aside(run, error)
        finally:
            self._clean_up()
            self._busy.pop(run.fence, None)
            self.on_slot_free()

    def _set_aside(self, run: Run, error: BaseException) -> None:
        extra = {"event": "slot_error", "workflow_id": run.id, "workflow": run.name}
        logger.critical("workflow %r broke its slot: %r", run.id, error, exc_info=error, extra=extra)
        outcome = Deferred(SET_ASIDE, keeps_place=True)
        self._recorder.end(Ending(run.fence, outcome), partial(self._told, run.fence, outcome))

    def _clean_up(self) -> None:
        try:
            sessions.leave_clean()
        except Exception:
            logger.exception("a slot's connections could not be cleaned; they are closed")
            connections.close_all()

    def _told(self, fence: Fence, outcome: Outcome, held: bool) -> None:
        self._end(fence, word_for(outcome, held), outcome)

    def _end(self, fence: Fence, what_became: str, outcome: Outcome | None = None) -> None:
        run = self._owned.pop(fence, None)
        if run is not None:
            self.tally.give_back(run, what_became)
            self.on_end(run, outcome)
            self.on_slot_free()  # it may have been this outcome that claims waited for
