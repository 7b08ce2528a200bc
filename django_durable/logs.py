"""Spans as log lines, and where the lines of a worker go if the project says nothing about it.

Every line carries `event` and the facts of its span as attributes of the record; arguments and results never.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from django_durable.core.outcomes import Cancelled, Completed, Deferred, Failed, Overtaken, Parked, Waiting
from django_durable.core.payloads.failures import summary
from django_durable.engine.redaction import redacted_failure
from django_durable.instrument import Span, subscribe

LEVELS = {0: logging.WARNING, 1: logging.INFO}
PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

root = logging.getLogger("django_durable")
Line = tuple[int, str, dict[str, Any]]


def configure(verbosity: int, style: str | None, stream: TextIO | None = None) -> None:
    """Show the package's lines, by the project's own logging if it has any and no style is asked for."""
    root.setLevel(LEVELS.get(verbosity, logging.DEBUG))
    if style is None and root.hasHandlers():
        return
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JSONLines() if style == "json" else TextLines())
    root.handlers = [handler]
    root.propagate = False


def connect() -> Callable[[], None]:
    """Turn every span from now on into a line; returns the undo."""
    return subscribe(log)


def log(span: Span) -> None:
    """Write the line of one span, if its level is shown."""
    logger = root.getChild(span.name.partition(".")[0])
    teller = TELLERS.get(span.name)
    if teller is None and not logger.isEnabledFor(logging.DEBUG):
        return
    level, message, extra = (teller or _any)(span)
    logger.log(level, message, extra={"event": span.name, "seconds": span.seconds, **extra})


def _any(span: Span) -> Line:
    facts = ", ".join(f"{key}={value}" for key, value in span.facts.items())
    return logging.DEBUG, f"{span.name}: {facts}", _safe(span.facts)


def _workflow(span: Span) -> Line:
    facts = span.facts
    extra = {"workflow_id": facts["id"], "workflow": facts["workflow"], "queue": facts["queue"]}
    level, became = _outcome(facts.get("outcome"), facts["workflow"])
    what = f"{facts['workflow']} {facts['id']}"
    extra["outcome"] = became.partition(":")[0]
    return level, f"{what} {became}, {span.seconds * 1000:.0f} ms", extra


def _outcome(outcome: object, workflow: str) -> tuple[int, str]:
    match outcome:
        case Completed():
            return logging.INFO, "succeeded"
        case Failed(error):
            return logging.WARNING, f"failed: {_first_line(error, workflow)}"
        case Cancelled():
            return logging.INFO, "cancelled"
        case Parked():
            return logging.ERROR, "parked: dispatched too often without an end"
        case Deferred(seconds=seconds, failures=failures):
            return logging.INFO, f"{'to be retried' if failures else 'set aside'}: due in {seconds:.1f} s"
        case Waiting():
            return logging.INFO, "waits in the table"
        case Overtaken():
            return logging.WARNING, "superseded: its outcome is not written"
    return logging.ERROR, "broke off"


def _first_line(error: str, workflow: str) -> str:
    failure = redacted_failure(summary(error), workflow)
    first = (failure.message.splitlines() or [""])[0]
    return f"{failure.type}: {first[:200]}"


def _unknown(span: Span) -> Line:
    facts = span.facts
    extra = {"workflow_id": facts["id"], "workflow": facts["workflow"]}
    return logging.WARNING, f"{facts['workflow']} {facts['id']} is left to others: {facts['problem']}", extra


def _recovery(span: Span) -> Line:
    lost, returned, parked = len(span.facts["executors"]), span.facts["returned"], span.facts["parked"]
    message = f"{lost} executors are lost: {returned} workflows are back in line, {parked} parked"
    return logging.WARNING, message, _safe(span.facts)


def _deadlines(span: Span) -> Line:
    message = f"{span.facts['timed_out']} workflows passed their deadline, {span.facts['expired']} expired"
    return logging.INFO, message, _safe(span.facts)


def _prune(span: Span) -> Line:
    return logging.INFO, f"pruned {sum(span.facts['runs'].values())} workflows", _safe(span.facts)


TELLERS: Mapping[str, Callable[[Span], Line]] = {
    "workflow": _workflow,
    "workflow.unknown": _unknown,
    "recovery": _recovery,
    "deadlines": _deadlines,
    "prune": _prune,
}


def _safe(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts under names that a log record does not use itself."""
    return {f"{key}_" if key in PLAIN else key: value for key, value in facts.items()}


class TextLines(logging.Formatter):
    """`2026-11-29 20:31:00.123 INFO  worker: …`, by local time."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03d %(levelname)-7s %(part)s: %(message)s", "%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        record.part = record.name.removeprefix("django_durable.")
        return super().format(record)


class JSONLines(logging.Formatter):
    """One object a line: at (UTC), level, logger, message, and what the record carries beside."""

    def format(self, record: logging.LogRecord) -> str:
        beside = {key: value for key, value in vars(record).items() if key not in PLAIN}
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **beside,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)
