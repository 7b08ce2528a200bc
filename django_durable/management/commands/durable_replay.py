"""Run a recorded workflow here against its checkpoints, writing nothing, and show where it diverges."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_durable import control
from django_durable.exceptions import DurableError
from django_durable.management.databases import chosen


class Command(BaseCommand):
    help = "Run a recorded workflow here against its checkpoints, writing nothing. Exits 1 if it diverges."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", help="id of the workflow")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with chosen(None):
                found = control.replay(options["id"])
        except DurableError as error:
            raise CommandError(str(error)) from None
        if options["format"] == "json":
            self.stdout.write(json.dumps(asdict(found)))
        else:
            calls = f"{found.replayed} of {found.steps} calls replayed"
            self.stdout.write(f"{found.name} {found.workflow_id}: {calls}")
            if found.stopped_at:
                self.stdout.write(f"it would go on with {found.stopped_at}")
        if not found.fits:
            raise CommandError(f"it diverges: {found.divergence}")
