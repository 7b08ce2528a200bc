"""`manage.py run_queues`: work on the queues until told to stop."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError, connections

from django_durable import logs
from django_durable.conf import settings
from django_durable.management.databases import first_line, require_postgres
from django_durable.worker.connecting import bound_waits, refused_for_good
from django_durable.worker.driver import REMEDY, fault_of_driver
from django_durable.worker.process import leash
from django_durable.worker.process.arguments import add_arguments, child_arguments, worker_options
from django_durable.worker.process.child_command import start_again
from django_durable.worker.process.options import WorkerOptions
from django_durable.worker.process.os_signals import Requests
from django_durable.worker.process.parent import Parent
from django_durable.worker.process.verdict import Verdict
from django_durable.worker.trouble import sqlstate

UNSEEN = (
    "A transaction is open here on {!r}, as in a TestCase: workers see nothing of it, so nothing that was "
    "enqueued in it will run. Call django_durable.testing.drain() instead, or use a TransactionTestCase."
)


class Command(BaseCommand):
    help = "Run workflows from the queues. TERM or INT drain it; a second one gives back and ends at once."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.requests = Requests()
        self.unchecked = ""  # why, if the system checks were left out

    def run_from_argv(self, argv: list[str]) -> None:
        self.requests.install()  # before anything else: a stop that is asked for during the start counts
        super().run_from_argv(argv)

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def check(self, *args: Any, **kwargs: Any) -> None:
        """Some checks ask the database; a worker waits for one that is away rather than fail."""
        _require_driver()
        bound_waits(*_postgres_aliases())
        try:
            super().check(*args, **kwargs)
        except (OperationalError, ProgrammingError) as error:
            if isinstance(error, ProgrammingError) and sqlstate(error) is not None:
                raise  # an answer of the server to what a check asked
            self.unchecked = first_line(error)
        except ImproperlyConfigured as error:
            raise CommandError(first_line(error)) from None

    def handle(self, *args: Any, **options: Any) -> None:
        _require_driver()
        logs.configure(options["verbosity"], options["format"])
        self.requests.install()
        bound_waits(*_postgres_aliases())
        undo = logs.connect()
        try:
            verdict = self._parent(options) if options["processes"] > 1 else self._worker(options)
        finally:
            undo()
            self.requests.restore()
        _leave(verdict)

    def _worker(self, options: dict[str, Any]) -> Verdict:
        # needs the driver, which is there by now
        from django_durable.worker.process.supervisor import Supervisor

        told = _told(options)
        self._require_databases(told.using)
        _close_idle_connections()
        if options["child"]:
            leash.obey(self.requests)
        return Supervisor(told, self.requests).run()

    def _parent(self, options: dict[str, Any]) -> Verdict:
        self._require_databases(_told(options).using)
        _close_idle_connections()
        commands = [
            start_again("run_queues", child_arguments(options, number))
            for number in range(1, options["processes"] + 1)
        ]
        timeout = options["shutdown_timeout"]
        parent = Parent(commands, self.requests, shutdown_timeout=timeout, burst=options["burst"])
        return Verdict(parent.run(), is_hung=False)

    def _require_databases(self, using: str) -> None:
        """End now where a worker would wait for ever; one that is only away is waited for."""
        for alias in dict.fromkeys((using, settings().listen_database or using)):
            require_postgres(alias)
            if reason := refused_for_good(alias):
                raise CommandError(f"the database {alias!r} cannot be used as it is configured: {reason}")
        if connections[using].in_atomic_block:
            self.stderr.write(self.style.WARNING(UNSEEN.format(using)))
        if self.unchecked:
            self.stderr.write(self.style.WARNING(f"The system checks were left out: {self.unchecked}"))


def _postgres_aliases() -> list[str]:
    return [alias for alias in connections if connections[alias].vendor == "postgresql"]


def _close_idle_connections() -> None:
    """This thread needs none from here on; one that a caller has a transaction on is his."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def _told(options: dict[str, Any]) -> WorkerOptions:
    try:
        told = worker_options(options)
    except ImproperlyConfigured as error:  # where the checks were left out
        raise CommandError(first_line(error)) from None
    if told.serves_nothing:
        raise CommandError(f"--exclude leaves out all that --queue names: {', '.join(told.queues)}")
    return told


def _require_driver() -> None:
    if fault := fault_of_driver():
        raise CommandError(f"{fault}. {REMEDY}")


def _leave(verdict: Verdict) -> None:
    """Exit by the verdict's code; past threads that would hold up an ordinary exit."""
    if verdict.is_hung:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(verdict.code)
    if verdict.code:
        sys.exit(verdict.code)
