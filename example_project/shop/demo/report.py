"""What the demo prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

from shop.demo.bar import Bar
from shop.demo.evidence import Evidence
from shop.demo.kill import Kill
from shop.demo.verdict import Finding
from shop.demo.work import Done, Work
from shop.demo.worker import Worker

SHOWN = 5  # problems of one kind that are printed in full


def say_title(bar: Bar) -> None:
    """Before the first question to the database: a new server takes seconds to be made."""
    bar.say("Windsock, prints of airports: durable workflows under fire\n")


def say_setting(bar: Bar, admin: str) -> None:
    major, minor = connection.get_database_version()
    where = "DATABASE_URL" if settings.DATABASE_URL else _short(settings.DEVDB_ROOT)
    _say(bar, "database", f"PostgreSQL {major}.{minor}, {where}")
    _say(bar, "admin", admin)


def say_leftovers(bar: Bar, count: int) -> None:
    if count:
        _say(bar, "left over", f"{count} workflows of an interrupted run, done along the way")


def say_workers(bar: Bar, workers: Sequence[Worker], slots: int) -> None:
    names = ", ".join(f"{worker.name} (process {worker.pid})" for worker in workers)
    _say(bar, "workers", f"{names}; {slots} slots each")


def say_work(bar: Bar, work: Work) -> None:
    rows = work.catalogue_import.rows_total
    release = work.catalogue_import.version
    _say(bar, "work", f"{len(work.orders)} orders, an import of {rows:,} airports (airportsdata {release})\n")


def say_kill(bar: Bar, kill: Kill, done: Done) -> None:
    named = ", ".join(sorted(kill.held, key=_import_first)[:SHOWN])
    others = f" and {len(kill.held) - SHOWN} more" if len(kill.held) > SHOWN else ""
    bar.say(f"\n  {_now()}  kill -9 worker {kill.victim.name} (process {kill.victim.pid})")
    bar.say(f"            {len(kill.held)} workflows were running in it: {named}{others}")
    bar.say(f"            the import stood at row {done.rows:,}\n")


def say_findings(bar: Bar, findings: Sequence[Finding]) -> None:
    """Print each answer, and the problems below it."""
    bar.say("\nWhat happened")
    for finding in findings:
        bar.say(f"  {'WRONG' if finding.problems else 'ok':<5} {finding.title:<9} {finding.words}")
        for problem in finding.problems[:SHOWN]:
            bar.say(f"          - {problem}")
        if len(finding.problems) > SHOWN:
            bar.say(f"          - and {len(finding.problems) - SHOWN} more")


def say_rate(bar: Bar, evidence: Evidence, took: float) -> None:
    orders, steps = len(evidence.orders), len(evidence.records)
    rows = evidence.work.catalogue_import.rows_total
    speed = f"{orders / took:,.0f} orders, {steps / took:,.0f} steps and {rows / took:,.0f} rows a second"
    bar.say(f"        {'time':<9} {took:.1f} s, the wait for the dead worker's lease included: {speed}")


def say_where_to_click(bar: Bar) -> None:
    manage = f"{_short(sys.executable)} {_short(settings.BASE_DIR / 'manage.py')}"
    bar.say("\nNow have a look: two terminals, then http://127.0.0.1:8000/ and http://127.0.0.1:8000/admin/")
    bar.say(f"  {manage} runserver")
    bar.say(f"  {manage} run_queues\n")


def _say(bar: Bar, title: str, words: str) -> None:
    bar.say(f"  {title:<9} {words}")


def _import_first(workflow_id: str) -> bool:
    return not workflow_id.startswith("import-")


def _now() -> str:
    return timezone.localtime().strftime("%H:%M:%S")


def _short(path: str | Path) -> str:
    """From here, if that is shorter."""
    return min(os.path.relpath(path), str(path), key=len)
