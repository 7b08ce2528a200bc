"""This process as an executor: registered, trusted as long as its lease runs, renewed several times a lease.

The lease in the row is by the database's clock. How long it is trusted here is measured on this machine's
monotonic clock from before the renewal was sent, so nothing is claimed on a lease that may have ended.
It is a thread: native code that holds the interpreter for longer than a lease loses it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID, uuid4

from django_durable.conf import HEARTBEATS_PER_LEASE
from django_durable.maintenance.recovery import forget
from django_durable.models import Executor
from django_durable.signals import executor_lost
from django_durable.worker.lease.registration import Registration
from django_durable.worker.service import Duty

MARGIN = 0.1  # of the lease: trusted here for that much less than it runs
LOST = (
    "executor %s was taken for lost and its workflows were given to others; it goes on as %s. "
    "Was the process stopped, or starved, for longer than DURABLE['LEASE']?"
)
LAPSED = "the lease was not renewed in time: nothing is claimed, and others may take over what runs here"

logger = logging.getLogger("django_durable.worker")


class Heartbeat(Duty):
    """Registers, then renews. An executor that others took for lost is followed by a new one."""

    name = "heartbeat"

    def __init__(self, registration: Registration, beat_file: Path | None = None) -> None:
        self.registration = registration
        self.beat_file = beat_file
        self.on_change: Callable[[], None] = lambda: None
        self.on_fleet: Callable[[int], None] = lambda workers: None
        self._id: UUID | None = None
        self._renewals = 0
        self._trusted_until = 0.0
        self._is_lapse_told = False

    @property
    def executor(self) -> UUID | None:
        """The id to claim under; None while the lease may have ended."""
        return self._id if time.monotonic() < self._trusted_until else None

    def tick(self) -> float:
        began = time.monotonic()
        self._tell_lapse(began)
        if self._id is None or not self.registration.renew(self._id):
            self._become_another(self._id)
        self._trust(began)
        self.on_fleet(Executor.objects.using(self.registration.using).alive().count())
        return max(0.0, self._interval() - (time.monotonic() - began))

    def finish(self) -> None:
        """Leave the fleet: whatever this process still owned is free to be taken at once."""
        executor_id, self._id = self._id, None
        if executor_id is not None and not forget(executor_id, self.registration.using):
            self.registration.withdraw(executor_id)

    def _interval(self) -> float:
        """The first renewal comes early: it proves that renewing works while there is time to try again."""
        interval = self.registration.lease / HEARTBEATS_PER_LEASE
        return interval / 2 if self._renewals <= 1 else interval

    def _become_another(self, former: UUID | None) -> None:
        self._trusted_until = 0.0
        new = uuid4()
        self.registration.register(new)
        self._id = new
        self._renewals = 0
        if former is None:
            logger.info("registered as executor %s", new, extra={"event": "registered", "executor": str(new)})
        else:
            extra = {"event": "executor_lost", "executor": str(former), "successor": str(new)}
            logger.error(LOST, former, new, extra=extra)
            executor_lost.send_robust(Executor, executor=former, successor=new)

    def _trust(self, since: float) -> None:
        was_trusted = self.executor is not None
        self._renewals += 1
        self._trusted_until = since + self.registration.lease * (1 - MARGIN)
        if self._is_lapse_told:
            self._is_lapse_told = False
            extra = {"event": "lease_renewed", "executor": str(self._id)}
            logger.info("the lease is renewed again", extra=extra)
        if not was_trusted:
            self.on_change()
        if self.beat_file is not None:
            with suppress(OSError):
                self.beat_file.touch()

    def _tell_lapse(self, now: float) -> None:
        if self._id is not None and now >= self._trusted_until and not self._is_lapse_told:
            self._is_lapse_told = True
            logger.warning(LAPSED, extra={"event": "lease_lapsed", "executor": str(self._id)})
