"""`manage.py demo`: orders, an import, a kill -9 in the middle, and a count afterwards."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from django_durable.management.reader import reader_may_leave
from shop.demo import show
from shop.demo.script import QUICK, Script


class Command(BaseCommand):
    help = (
        "Run the shop under fire: place orders, import a catalogue, kill a worker, and count what came of it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--quick", action="store_true", help="fewer orders and rows, for a test")
        parser.add_argument("--orders", type=int, metavar="N", help="how many orders to place")
        parser.add_argument("--rows", type=int, metavar="N", help="how many rows of the catalogue to import")
        parser.add_argument(
            "--slots", type=int, metavar="N", help="how many workflows each worker runs at once"
        )
        parser.add_argument("--patience", type=float, metavar="S", help="seconds until it gives up waiting")

    def handle(self, *args: Any, **options: Any) -> None:
        given = {
            name: options[name]
            for name in ("orders", "rows", "slots", "patience")
            if options[name] is not None
        }
        if any(value <= 0 for value in given.values()):
            raise CommandError("--orders, --rows, --slots and --patience take numbers above 0")
        script = Script(**{**(QUICK if options["quick"] else {}), **given})
        try:
            with reader_may_leave():
                is_proven = show.play(script, self.stdout)
        except KeyboardInterrupt:
            self.stderr.write("\nStopped. What was in line stays there: the next worker goes on with it.")
            sys.exit(130)
        except OperationalError as away:
            raise CommandError(f"the database cannot be reached; is DATABASE_URL right? {away}") from away
        if not is_proven:
            raise CommandError("something was lost, doubled or left undone: see the report above")
