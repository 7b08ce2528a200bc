"""What bodies leave behind, so that a test can count how often each really ran."""

from __future__ import annotations

import os
from contextlib import closing

from django.db import connections, models

from django_durable.models.database import Clock


class Probe(models.Model):
    """One moment of a body's execution: it stays even where the body's own transaction rolls back."""

    run_id = models.TextField(db_index=True)
    step = models.TextField()
    pid = models.IntegerField()
    ev = models.TextField()
    at = models.DateTimeField(db_default=Clock())

    def __str__(self) -> str:
        return f"{self.run_id} {self.step} {self.ev}"

    @classmethod
    def note(cls, run_id: str, step: str, ev: str = "hit") -> None:
        """Write a row on a connection of its own, committed at once."""
        with closing(connections.create_connection("default")) as own:
            insert = f"INSERT INTO {cls._meta.db_table} (run_id, step, pid, ev) VALUES (%s, %s, %s, %s)"
            with own.cursor() as cursor:
                cursor.execute(insert, (run_id, step, os.getpid(), ev))

    @classmethod
    def hits(cls, run_id: str, step: str, ev: str = "hit") -> int:
        return cls.objects.filter(run_id=run_id, step=step, ev=ev).count()


class Ledger(models.Model):
    """One row that an atomic step wrote: exactly one a step, whatever happens to its worker."""

    run_id = models.TextField(db_index=True)
    step = models.TextField()
    amount = models.IntegerField(default=1)
    at = models.DateTimeField(db_default=Clock())

    def __str__(self) -> str:
        return f"{self.run_id} {self.step} {self.amount}"
