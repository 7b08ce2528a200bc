"""One worker process from its first moment to its last: starts the tree, watches it, stops it as asked."""

from __future__ import annotations

import gc
import logging
import os
import sys
import time
from pathlib import Path

from django.db import connections

from django_durable.conf import settings
from django_durable.worker.process.core import keep_on
from django_durable.worker.process.options import WorkerOptions
from django_durable.worker.process.os_signals import Requests, log_stacks
from django_durable.worker.process.tree import Tree
from django_durable.worker.process.verdict import Verdict

WATCH = 1.0  # seconds between looks at the parts
SOON = 0.02  # the same while the end is near: in a burst, and while draining
SHORTEST_PATIENCE = (
    5.0  # seconds; a tick that takes longer than this and a lease waits for no answer any more
)
GRACE = 5.0  # seconds to write and give back after the drain
HASTE = 2.0  # the same after a second signal
MEGABYTE = 1024 * 1024
DEFAULT_POOL = 4  # connections of a psycopg pool whose size is not given

logger = logging.getLogger("django_durable.worker")


class Supervisor:
    """First stop request: claim nothing, drain, give back what is left. Second signal: give back now."""

    def __init__(self, options: WorkerOptions, requests: Requests) -> None:
        self.options = options
        self.requests = requests
        self.tree = Tree(options, settings(), requests.bell)
        self._patience = max(settings().lease, SHORTEST_PATIENCE)
        self._look: int | None = None
        self._taken = 0  # when that look was asked for

    def run(self) -> Verdict:
        began = time.monotonic()
        if self.options.core is not None:
            keep_on(self.options.core)
        gc.freeze()  # the modules of the project stay: looking through them again and again finds nothing
        self.tree.start()
        self._announce()
        while not self.requests.wants_stop and not self._is_over():
            self.requests.bell.wait(SOON if self.options.burst else WATCH)
            self._watch()
        is_hung = not self._stop()
        self._close(time.monotonic() - began)
        return Verdict(self.requests.exit_code, is_hung)

    def _stop(self) -> bool:
        """Whether every part ended."""
        _say("stopping", "stopping: %d workflows are running", len(self.tree.pool.owned))
        self.tree.stop_claiming()
        drained_by = time.monotonic() + self.options.shutdown_timeout
        while not self.tree.is_drained and time.monotonic() < drained_by and not self.requests.wants_force:
            self.requests.bell.wait(SOON)
            self._watch()
        return self.tree.finish(time.monotonic() + (HASTE if self.requests.wants_force else GRACE))

    def _watch(self) -> None:
        if self.requests.wants_stacks:
            self.requests.wants_stacks = False
            log_stacks()
        for service in self.tree.services.values():
            if not service.is_alive and not service.is_stopping:
                logger.critical(
                    "%s ended by itself; it is started again", service.name, extra=_event("dead_part")
                )
                service.start()
            elif service.stuck_for > self._patience:
                message = "%s has waited %.0f s for the database; its connection is cut"
                logger.error(message, service.name, service.stuck_for, extra=_event("stuck"))
                service.sever()

    def _is_over(self) -> bool:
        """Whether this process has done what it was started for."""
        if self.tree.pool.is_spent:
            _say("recycled", "took %d workflows, as many as it may: it ends", self.options.max_tasks)
            return True
        if self.options.max_memory is not None and (used := resident_megabytes()) > self.options.max_memory:
            _say("recycled", "uses %d MB, more than %d: it ends", used, self.options.max_memory)
            return True
        return self.options.burst and self._burst_is_over()

    def _burst_is_over(self) -> bool:
        """Nothing runs, and a look at every queue that began after that found nothing and nothing was taken.

        A run may begin, put others in line and end between two glances of this thread; hence the count. The
        order of the three readings matters: what the look overtook is counted, what is counted is owned.
        """
        last, taken = self.tree.poller.last_look, self.tree.tally.done["claimed"]
        if not self.tree.is_drained or taken != self._taken:
            self._look, self._taken = None, taken
        elif self._look is None:
            self._look = self.tree.poller.look()
        elif last.number >= self._look:
            self._look = None
            return not last.found
        return False

    def _announce(self) -> None:
        names = ", ".join(self.options.queues) or "all"
        if self.options.exclude:
            names += f" but {', '.join(self.options.exclude)}"
        needed = self.tree.connections_needed
        extra = _event("start", queues=names, slots=self.options.slots, connections=needed, pid=os.getpid())
        message = "worker %d: queues %s, %d slots, up to %d connections to the database %r"
        logger.info(message, os.getpid(), names, self.options.slots, needed, self.options.using, extra=extra)
        self._check_pool(needed)
        self._check_interval(settings().lease)

    def _check_pool(self, needed: int) -> None:
        pool = connections.settings[self.options.using].get("OPTIONS", {}).get("pool")
        size = (
            pool.get("max_size") or pool.get("min_size", DEFAULT_POOL)
            if isinstance(pool, dict)
            else DEFAULT_POOL
        )
        if pool and size < needed:
            message = "the connection pool of database %r holds %d, up to %d are needed: raise its max_size"
            logger.warning(message, self.options.using, size, needed, extra=_event("small_pool"))

    def _check_interval(self, lease: float) -> None:
        """The settings' own is a system check."""
        if self.options.poll_interval >= lease > settings().poll_interval:
            message = (
                "the poll interval of this worker (%g s) is not below DURABLE['LEASE'] (%g s): "
                "a run given back or taken over waits longer than it took to notice"
            )
            logger.warning(message, self.options.poll_interval, lease, extra=_event("seldom"))

    def _close(self, seconds: float) -> None:
        done = dict(self.tree.tally.done)
        given_back = done.pop("released", 0)
        counts = ", ".join(f"{count} {word}" for word, count in done.items()) or "nothing claimed"
        extra = _event("end", seconds=seconds, released=given_back, **done)
        message = "worker %d ends after %.1f s: %s, %d given back"
        logger.info(message, os.getpid(), seconds, counts, given_back, extra=extra)


def resident_megabytes() -> int:
    """What this process holds in memory now; where the system does not tell, its highest so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") // MEGABYTE
    except OSError:
        import resource  # not on Windows, which has no such call

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak // MEGABYTE if sys.platform == "darwin" else peak // 1024


def _say(event: str, message: str, *args: object) -> None:
    logger.info(message, *args, extra=_event(event))


def _event(event: str, **facts: object) -> dict[str, object]:
    return {"event": event, **facts}
