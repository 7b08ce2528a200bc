"""The story of one demo, from an empty stage to the count."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from django.core.management.base import CommandError, OutputWrapper

from shop import counter
from shop.demo import customers, kill, report, stage, verdict
from shop.demo.bar import Bar
from shop.demo.evidence import Evidence
from shop.demo.kill import Kill
from shop.demo.script import Script
from shop.demo.work import Work
from shop.demo.worker import Worker

GLANCE = 0.1  # seconds between two looks at the tables


def play(script: Script, out: OutputWrapper) -> bool:
    """Play the demo and print its report; False if anything was lost, doubled or left undone."""
    bar = Bar(out)
    report.say_title(bar)
    stage.migrate()
    report.say_setting(bar, stage.admin())
    report.say_leftovers(bar, stage.leftovers())
    window = stage.shelf(script)
    with _workers(script) as workers:
        report.say_workers(bar, workers, script.slots)
        began = time.monotonic()
        catalogue_import = counter.start_import(script.rows)
        work = Work(list(customers.place(script.orders, window)), catalogue_import)
        report.say_work(bar, work)
        struck = _watch(work, workers, script, bar)
        took = time.monotonic() - began
    evidence = Evidence(work)
    findings = verdict.findings(evidence, struck)
    report.say_findings(bar, findings)
    report.say_rate(bar, evidence, took)
    report.say_where_to_click(bar)
    return not any(finding.problems for finding in findings)


def _watch(work: Work, workers: Sequence[Worker], script: Script, bar: Bar) -> Kill | None:
    """Show how far the work is until it is done; kill one worker on the way."""
    struck = None
    patience_ends = time.monotonic() + script.patience
    while not work.is_done(done := work.look()):
        bar.show(work.share(done), work.words(done))
        if struck is None and kill.is_time(work, done) and (struck := kill.strike(workers, work)):
            report.say_kill(bar, struck, done)
        _check_workers(workers, bar)
        if time.monotonic() > patience_ends:
            bar.say(f"  gave up after {script.patience:g} s")
            return struck
        time.sleep(GLANCE)
    bar.show(1.0, work.words(done))
    bar.close()
    return struck


def _check_workers(workers: Sequence[Worker], bar: Bar) -> None:
    for worker in workers:
        if not worker.runs and not worker.is_killed:
            bar.close()
            raise CommandError(
                f"worker {worker.name} ended by itself; its log {worker.log} ends:\n{worker.last_words()}"
            )


@contextmanager
def _workers(script: Script) -> Iterator[list[Worker]]:
    """Start the workers; on the way out, however that comes about, leave none running."""
    environ = {"DURABLE_LEASE": str(script.lease), "SHOP_GATEWAY_SECONDS": str(script.gateway)}
    before = signal.signal(signal.SIGTERM, _leave)
    workers: list[Worker] = []
    try:
        for name in script.workers:
            workers.append(Worker(name, script.slots, environ))
        yield workers
    finally:
        for worker in workers:
            worker.ask_to_stop()
        for worker in workers:
            worker.wait()
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
