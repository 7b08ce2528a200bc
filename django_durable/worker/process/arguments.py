"""The command line of a worker: what it may say, what it comes to, and how it is said again to a child."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django_durable.conf import settings
from django_durable.core.identifiers import check_identifier
from django_durable.core.payloads.excerpt import quoted
from django_durable.exceptions import InvalidIdentifier
from django_durable.models import database
from django_durable.worker.process.core import cores
from django_durable.worker.process.options import WorkerOptions

HANDED_ON = {
    "queues": "--queue",
    "exclude": "--exclude",
    "slots": "--slots",
    "max_tasks": "--max-tasks",
    "max_memory": "--max-memory",
    "poll_interval": "--poll-interval",
    "shutdown_timeout": "--shutdown-timeout",
    "database": "--database",
    "heartbeat_file": "--heartbeat-file",
    "format": "--format",
    "verbosity": "--verbosity",
    "settings": "--settings",
    "pythonpath": "--pythonpath",
}
MOST = 10**9  # of anything: no thread can wait for ten times as many seconds
FLAGS = {"burst": "--burst", "no_listen": "--no-listen", "no_maintenance": "--no-maintenance"}


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    queue = _named("queue name")
    names: dict[str, Any] = {"action": "append", "type": queue, "default": [], "metavar": "NAME"}
    add("--queue", dest="queues", help="only this queue; repeatable", **names)
    add("--exclude", help="not this queue; repeatable", **names)
    add("--slots", type=_from(1, int), default=10, help="workflows at a time in one process (10)")
    add("--processes", type=_from(1, int), default=1, help="worker processes under this one (1)")
    add(
        "--burst",
        action="store_true",
        help="end when nothing is ready and this worker runs nothing; delayed runs are not ready",
    )
    add("--max-tasks", type=_from(1, int), metavar="N", help="end after having taken so many workflows")
    add("--max-memory", type=_from(1, int), metavar="MB", help="end when the process holds more than this")
    add("--poll-interval", type=_from(0.01, float), metavar="S", help="seconds between questions for work")
    add("--shutdown-timeout", type=_from(0, float), default=25.0, metavar="S", help="seconds to drain (25)")
    add("--no-listen", action="store_true", help="do not listen for notices: behind a transaction pooler")
    add(
        "--no-maintenance",
        action="store_true",
        help="leave recovery, delays, deadlines and pruning to others",
    )
    add("--database", metavar="ALIAS", help="the database whose queues to serve")
    add(
        "--worker-id",
        type=_named("worker id"),
        metavar="ID",
        help="what the executor is called instead of by its host's name",
    )
    add(
        "--core",
        type=_core,
        metavar="N",
        help="keep the process on the N-th of its cores, from 0, and the next of --processes on the next: "
        "for short steps in Python, which take turns anyway",
    )
    add("--heartbeat-file", type=Path, metavar="PATH", help="touched whenever the lease is renewed")
    add("--format", choices=("text", "json"), help="log lines of this form, whatever LOGGING says")
    add("--child", action="store_true", help=argparse.SUPPRESS)


def worker_options(given: Mapping[str, Any]) -> WorkerOptions:
    """Raises what is wrong with the settings it falls back on."""
    own = settings()
    return WorkerOptions(
        using=given["database"] or database.alias(),
        queues=tuple(dict.fromkeys(given["queues"])),
        exclude=tuple(given["exclude"]),
        slots=given["slots"],
        poll_interval=given["poll_interval"] or own.poll_interval,
        shutdown_timeout=given["shutdown_timeout"],
        burst=given["burst"],
        max_tasks=given["max_tasks"],
        max_memory=given["max_memory"],
        listens=own.notify and not given["no_listen"],
        maintains=not given["no_maintenance"],
        worker_id=given["worker_id"] or "",
        heartbeat_file=given["heartbeat_file"],
        core=given["core"],
    )


def child_arguments(given: Mapping[str, Any], number: int) -> list[str]:
    """The same command line for the `number`-th of several processes."""
    said = ["--child"]
    for name, option in HANDED_ON.items():
        value = given.get(name)
        for item in value if isinstance(value, list) else [value]:
            said += [] if item is None else [f"{option}={item}"]
    said += [flag for name, flag in FLAGS.items() if given[name]]
    if given["core"] is not None:
        said.append(f"--core={given['core'] + number - 1}")
    if given["worker_id"]:
        said.append(f"--worker-id={given['worker_id']}-{number}")
    return said


def _core(text: str) -> int:
    if not cores():
        raise argparse.ArgumentTypeError("this system keeps no process on a core")
    return int(_from(0, int)(text))


def _named(kind: str) -> Callable[[str], str]:
    def name(text: str) -> str:
        try:
            return check_identifier(kind, text)
        except InvalidIdentifier as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return name


def _from(least: float, kind: type[int] | type[float]) -> Any:
    def number(text: str) -> float:
        value = kind(text)
        if not least <= value < float("inf"):
            bounds = f"at least {least:g}" if value < least else f"at least {least:g}, and finite"
            raise argparse.ArgumentTypeError(f"it has to be {bounds}; it is {quoted(text)}")
        if value > MOST:
            raise argparse.ArgumentTypeError(f"it has to be at most {MOST}; it is {quoted(text)}")
        return value

    number.__name__ = "whole number" if kind is int else "number"
    return number
