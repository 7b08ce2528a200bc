"""Ten claimers of 20 for 20 seconds on 20 000 rows of 20 limited keys; what is claimed ends at once.

What ended goes back in line behind all others, so the line never gets shorter. `over_limit` counts the starts
at which more ran of a key than its limit, by the database's clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from django_durable.models import Limit, Queue
from tests.benchmarks.data_sets import LOAD_READY, ORDERS, QUEUE
from tests.benchmarks.report import Report
from tests.benchmarks.server import DBNAME
from tests.stress.claimers import Crew, most_at_once, prepare_record, read_record

CLAIMERS = 10
SLOTS = 20
ROWS = 20_000
KEYS = 20
MAX_RUNNING = 5


def run(quick: bool, only: Sequence[str]) -> Report:
    report = Report("load")
    seconds = 5.0 if quick else 20.0
    for order in ORDERS:
        if not only or order in only:
            _measure(report, order, seconds)
    return report


def _measure(report: Report, order: str, seconds: float) -> None:
    _load(order)
    crew = Crew([[QUEUE]] * CLAIMERS, SLOTS, seconds, DBNAME)
    try:
        crew.start()
        claimed, errors = crew.finish()
    finally:
        crew.kill()
    over = [
        level for levels in most_at_once(read_record()).values() for _, level in levels if level > MAX_RUNNING
    ]
    named = {
        "order": order,
        "claimers": CLAIMERS,
        "slots": SLOTS,
        "rows": ROWS,
        "keys": KEYS,
        "max_running": MAX_RUNNING,
        "seconds": seconds,
    }
    report.add("claimed", claimed, "runs", **named)
    report.add("errors", len(errors), "errors", **named)
    report.add("over_limit", len(over), "starts", **named)
    for error in sorted(set(errors)):
        print("  ", error)


def _load(order: str) -> None:
    prepare_record()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE durable_workflow_status, durable_queue, durable_limit, durable_rate_start")
        Queue.objects.create(name=QUEUE, fair=order == "fair")
        Limit.objects.bulk_create([Limit(key=f"k{n}", max_running=MAX_RUNNING) for n in range(KEYS)])
        columns = {"key": f"'k' || i % {KEYS}", "partition": "NULL", "priority": "0"}
        cursor.execute(LOAD_READY.format(n=ROWS, queue=QUEUE, **columns))
        cursor.execute("VACUUM (ANALYZE) durable_workflow_status")
        cursor.execute("ALTER SYSTEM SET autovacuum = on")
        cursor.execute("SELECT pg_reload_conf()")
