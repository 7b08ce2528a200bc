"""The parts of one worker process, how they are joined, and in which order they start and stop.

::

    heartbeat                     registers first, ends last: the lease holds until the last run is done
    recorder · returns            what runs write, what is given back
    timekeeper · recovery · pruner
    queue set · poller            claims once the first pass of maintenance is through
    listener
    pool                          its threads start when they are first needed
"""

from __future__ import annotations

import math
import time

from django_durable.conf import Settings
from django_durable.core.outcomes import Deferred, Outcome, Waiting
from django_durable.core.run import Run
from django_durable.maintenance.pruner import Pruner
from django_durable.worker.lease.heartbeat import Heartbeat
from django_durable.worker.lease.registration import Registration
from django_durable.worker.polling.bell import Bell
from django_durable.worker.polling.listener import Listener
from django_durable.worker.polling.poller import Poller
from django_durable.worker.polling.queue_set import QueueSet
from django_durable.worker.process.options import WorkerOptions
from django_durable.worker.service import LONGEST_PAUSE, Duty, Service
from django_durable.worker.slots.pool import Pool
from django_durable.worker.slots.returns import Returns
from django_durable.worker.slots.tally import Tally
from django_durable.worker.timekeeper import Timekeeper
from django_durable.worker.trouble import Outages
from django_durable.worker.upkeep import Prune, RecoverLost
from django_durable.worker.writing.recording import GroupRecorder

PATIENCE_WITH_MAINTENANCE = 5.0  # seconds until claims begin without it
PAUSES_PER_LEASE = 6


class Tree:
    """Built, started and stopped on one thread; `bell` rings when something happened that it may wait for."""

    def __init__(self, options: WorkerOptions, settings: Settings, bell: Bell) -> None:
        self.options = options
        self.using = options.using
        self.bell = bell
        self.tally = Tally()
        self.outages = Outages()
        self.recorder = GroupRecorder(self.using)
        self.returns = Returns(self.using)
        most = math.inf if options.max_tasks is None else options.max_tasks
        self.pool = Pool(options.slots, self.recorder, self.tally, self.using, most=most)
        self.heartbeat = Heartbeat(self._registration(settings), options.heartbeat_file)
        self.queue_set = QueueSet(
            self.using, options.poll_interval, options.queues, options.exclude, lease=settings.lease
        )
        self.poller = Poller(self.queue_set, self.pool, self.heartbeat, self.using)
        self.timekeeper = Timekeeper(self.using)
        self.services = self._services(settings)
        self._opens_at = 0.0
        self._is_closing = False
        self._join()

    def start(self) -> None:
        self._opens_at = time.monotonic() + PATIENCE_WITH_MAINTENANCE
        for service in self.services.values():
            service.start()

    def stop_claiming(self) -> None:
        """Let what runs run on; what no slot has begun is given back."""
        self._is_closing = True
        self.poller.close()
        for name in ("listener", "poller", "maintenance"):
            if name in self.services:
                self.services[name].ask_to_stop()
        self.returns.hand_over(self.pool.close())

    @property
    def is_drained(self) -> bool:
        return self.pool.is_idle and not self.backlog

    @property
    def backlog(self) -> int:
        """Writes that are not committed."""
        return self.recorder.backlog + self.returns.backlog

    def finish(self, deadline: float) -> bool:
        """Give back what still runs and end all parts by a monotonic instant; False if one did not end."""
        left = self.pool.owned
        if left:
            self.returns.take_away(left)
            self.pool.disown(left)
        self.recorder.give_up_at(deadline)
        self.returns.give_up_at(deadline)
        ended = [
            self.services[name].stop(max(0.0, deadline - time.monotonic()))
            for name in ("listener", "poller", "maintenance", "recorder", "heartbeat")
            if name in self.services
        ]
        return self.pool.join(deadline if not left else time.monotonic()) and all(ended)

    @property
    def connections_needed(self) -> int:
        """One a service, one a slot."""
        return len(self.services) + self.options.slots

    def _registration(self, settings: Settings) -> Registration:
        return Registration(
            using=self.using,
            lease=settings.lease,
            name=self.options.worker_id,
            app_version=settings.app_version,
            queues=self.options.queues,
        )

    def _services(self, settings: Settings) -> dict[str, Service]:
        services = {
            "heartbeat": self._service(
                "heartbeat",
                self.heartbeat,
                longest_pause=min(LONGEST_PAUSE, settings.lease / PAUSES_PER_LEASE),
            ),
            "recorder": self._service("recorder", self.recorder, self.returns, longest_pause=1.0),
            "poller": self._service("poller", self.queue_set, self.poller),
        }
        if self.options.maintains:
            services["maintenance"] = self._service("maintenance", *self._maintenance(settings))
        if self.options.listens:
            self.listener = Listener(settings.listen_database or self.using)
            self.listener.on_notice = self._noticed
            services["listener"] = Service(
                "listener",
                self.listener,
                using=self.listener.using,
                outages=self.outages,
                interrupt=self.listener.interrupt,
            )
        return services

    def _service(self, name: str, *duties: Duty, longest_pause: float = LONGEST_PAUSE) -> Service:
        return Service(name, *duties, using=self.using, outages=self.outages, longest_pause=longest_pause)

    def _maintenance(self, settings: Settings) -> list[Duty]:
        recovery = RecoverLost(self.using, settings.lease)
        recovery.on_work = self.poller.notice
        self.timekeeper.on_work = self.poller.notice
        return [self.timekeeper, recovery, Prune(Pruner(self.using, settings.retention))]

    def _join(self) -> None:
        recorder, poller = self.services["recorder"], self.services["poller"]
        self.recorder.wake = lambda: recorder.wake(self.recorder)
        self.returns.wake = lambda: recorder.wake(self.returns)
        self.poller.wake = lambda: poller.wake(self.poller)
        self.poller.may_begin = self._may_begin
        self.poller.give_back = self.returns.hand_over
        self.timekeeper.wake = self._wake_timekeeper
        self.queue_set.on_change = self.poller.wake
        self.heartbeat.on_change = self.poller.wake
        self.heartbeat.on_fleet = self._fleet_is
        self.pool.on_slot_free = self.poller.slot_freed
        self.pool.on_end = self._run_ended

    def _may_begin(self) -> bool:
        maintenance = self.services.get("maintenance")
        return maintenance is None or maintenance.rounds > 0 or time.monotonic() > self._opens_at

    def _noticed(self) -> None:
        self.poller.notice()
        self.timekeeper.notice()

    def _fleet_is(self, workers: int) -> None:
        self.poller.among(workers)
        self.timekeeper.among(workers)

    def _wake_timekeeper(self) -> None:
        if "maintenance" in self.services:
            self.services["maintenance"].wake(self.timekeeper)

    def _run_ended(self, run: Run, outcome: Outcome | None) -> None:
        self.poller.run_ended(run.queue, run.limit_key)
        if outcome is None or isinstance(outcome, Waiting):
            self.poller.run_waits()
        if isinstance(outcome, Deferred) or (isinstance(outcome, Waiting) and not outcome.is_written):
            self._wake_timekeeper()
        if self.pool.is_idle and (self._is_closing or self.pool.is_spent):
            self.bell.ring()
