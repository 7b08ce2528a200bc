"""The limits of keys beside what is in use of them; to set one and to clear one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_durable.core.durations import in_words, read
from django_durable.core.payloads.excerpt import quoted
from django_durable.exceptions import InvalidIdentifier, InvalidLimit, InvalidOption
from django_durable.management.databases import chosen
from django_durable.management.reader import reader_may_leave
from django_durable.management.table import printable, table
from django_durable.models import Limit
from django_durable.models.limit import LimitInUse

NONE = "none"  # takes a limit away
HEADS = ("key", "running", "max", "starts", "max", "within", "waiting")
GIVEN = {"running": "max_running", "starts": "max_starts", "per": "per"}


class Command(BaseCommand):
    requires_system_checks = ["durable"]  # of the others, some would ask a database that may be away
    help = "Show, set and clear the limits that workflows of any queue share by their limit key."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list | set | clear")
        of_list = verbs.add_parser("list", help="every limit, what is in use of it, and what waits in line")
        of_list.add_argument("keys", nargs="*", metavar="KEY", help="only these")
        of_list.add_argument("--format", choices=["text", "json"], default="text")
        of_set = verbs.add_parser(
            "set", help="make a limit or edit it: what is not named stays, 'none' takes it away"
        )
        of_set.add_argument("key", metavar="KEY")
        of_set.add_argument("--running", metavar="N", help="so many in flight over all queues")
        of_set.add_argument("--starts", metavar="N", help="so many starts within --per")
        of_set.add_argument(
            "--per", metavar="TIME", help="the sliding window of --starts: 30s, 1m, 1h30m, 1d"
        )
        of_clear = verbs.add_parser("clear", help="let a key be unlimited")
        of_clear.add_argument("key", metavar="KEY")
        for verb in (of_list, of_set, of_clear):
            verb.add_argument("--database", metavar="ALIAS", help="the database that the limits are in")

    def handle(self, *args: Any, **options: Any) -> None:
        do = {"list": self._list, "set": self._set, "clear": self._clear}[options["verb"]]
        try:
            with chosen(options["database"]) as using, reader_may_leave():
                do(using, options)
        except (InvalidIdentifier, InvalidLimit, InvalidOption) as error:
            raise CommandError(str(error)) from None

    def _list(self, using: str, options: dict[str, Any]) -> None:
        limits = Limit.objects.using(using).in_use(options["keys"] or None)
        if options["format"] == "json":
            self.stdout.write(json.dumps([_facts(limit) for limit in limits]))
        elif limits:
            self._write_table(limits)
        if missing := set(options["keys"]) - {limit.key for limit in limits}:
            raise CommandError(f"no limit of {', '.join(map(printable, sorted(missing)))}")
        if not limits and options["format"] == "text":
            self.stdout.write("No key has a limit.")

    def _write_table(self, limits: Sequence[LimitInUse]) -> None:
        head, *lines = table(HEADS, map(_cells, limits))
        self.stdout.write(head, self.style.MIGRATE_HEADING)
        for limit, line in zip(limits, lines, strict=True):
            self.stdout.write(line, self.style.WARNING if _is_used_up(limit) else None)

    def _set(self, using: str, options: dict[str, Any]) -> None:
        given = {
            name: _value(option, options[option])
            for option, name in GIVEN.items()
            if options[option] is not None
        }
        if not given:
            raise CommandError("say what to set: --running N, or --starts N --per 1m, or both")
        limit = Limit.objects.using(using).set(options["key"], **given)
        self.stdout.write(f"{printable(limit.key)}: {_in_words(limit)}")

    def _clear(self, using: str, options: dict[str, Any]) -> None:
        had_one = Limit.objects.using(using).clear(options["key"])
        key = printable(options["key"])
        self.stdout.write(f"{key}: unlimited from the next claim" if had_one else f"{key}: had no limit")


def _value(option: str, text: str) -> Any:
    if text == NONE:
        return None
    if option == "per":
        return read(text)
    try:
        return int(text)
    except ValueError:
        raise CommandError(
            f"--{option} takes a whole number from 1, or {NONE}; it is {quoted(text)}"
        ) from None


def _cells(limit: LimitInUse) -> tuple[object, ...]:
    starts = None if limit.max_starts is None else limit.starts
    within = None if limit.window is None else in_words(limit.window)
    return (limit.key, limit.running, limit.max_running, starts, limit.max_starts, within, limit.waiting)


def _facts(limit: LimitInUse) -> dict[str, object]:
    return {**limit._asdict(), "window": limit.window.total_seconds() if limit.window else None}


def _is_used_up(limit: LimitInUse) -> bool:
    is_full = limit.max_running is not None and limit.running >= limit.max_running
    return is_full or (limit.max_starts is not None and limit.starts >= limit.max_starts)


def _in_words(limit: Limit) -> str:
    words = [] if limit.max_running is None else [f"{limit.max_running} running"]
    if limit.window is not None:
        words.append(f"{limit.max_starts} starts in {in_words(limit.window)}")
    return ", ".join(words)
