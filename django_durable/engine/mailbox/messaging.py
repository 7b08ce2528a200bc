"""Messages: sent from anywhere in the sender's transaction, received once by the body they are for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction

from django_durable.claim.isolation import read_committed
from django_durable.core.identifiers import check_identifier
from django_durable.core.waits import Wait
from django_durable.engine import payloads
from django_durable.engine.execution.context import WorkflowContext, current, required
from django_durable.engine.execution.effects import Done, effect, keep
from django_durable.engine.execution.history import replayed
from django_durable.engine.execution.operations import Operation, at_once
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.ownership import guarded
from django_durable.engine.waits.timers import seconds_of, timer
from django_durable.engine.waits.waiting import NOTHING, begin, look_until
from django_durable.engine.waits.waking import wake_for_message
from django_durable.exceptions import Superseded, WorkflowNotFound
from django_durable.models import database

SEND = "durable.send"
RECV = "durable.recv"
RECV_TIMER = "durable.recv.timer"


def send(
    workflow_ids: Sequence[str], message: Any, topic: str | None, idempotency_key: str | None
) -> Operation:
    """One message to each; all are delivered, or none and WorkflowNotFound is raised."""
    check_identifier("topic", topic, optional=True)
    check_identifier("idempotency key", idempotency_key, optional=True)
    ids = sorted({check_identifier("workflow id", workflow_id) for workflow_id in workflow_ids})
    writer = payloads.own()
    row = {
        "topic": topic or "",
        "payload": payloads.encode(message, "the message", writer.tag),
        "serialization": writer.tag,
        "idempotency_key": idempotency_key,
    }
    context = current()
    if context is None:
        return at_once(lambda: guarded(lambda: _deliver_alone(ids, row), own_row_first=False))
    using = context.using

    def do(number: int) -> Done:
        _deliver(ids, row, using)
        return Done()

    return effect(context, SEND, do, own_row_first=False)


def recv(topic: str | None, timeout: timedelta | float | None) -> Operation:
    context = required("recv()")
    check_identifier("topic", topic, optional=True)
    seconds = None if timeout is None else seconds_of("the timeout of recv()", timeout)
    begin(context, "recv()")
    numbers = context.take_number(), context.take_number()
    return _recv(context, numbers, topic or "", seconds)


def _recv(context: WorkflowContext, numbers: tuple[int, int], topic: str, seconds: float | None) -> Operation:
    number, timer_number = numbers
    recorded = context.find(number, RECV)
    if recorded is not None:
        return replayed(recorded)
    found = _take(context, number, topic)
    if found is NOTHING:
        until = None if seconds is None else timer(context, timer_number, RECV_TIMER, seconds)
        wait = Wait(mailboxes=(topic,))
        found = yield from look_until(context, lambda: _take(context, number, topic), wait, until)
    return keep(context, number, RECV, None) if found is NOTHING else found


def _take(context: WorkflowContext, number: int, topic: str) -> Any:
    """The oldest message, consumed and recorded in one statement; NOTHING if there is none."""
    params = {**context.fence._asdict(), "id": context.run.id, "topic": topic, "step": number, "name": RECV}
    rows = through_outages(lambda: database.fetch("take_message", params, context.using), context.using)
    if not rows:
        raise Superseded(context.fence)
    is_there, payload, serialization = rows[0]
    return payloads.decode(payload, serialization) if is_there else NOTHING


def _deliver_alone(ids: Sequence[str], row: dict[str, Any]) -> None:
    using = database.alias()
    with read_committed(using), transaction.atomic(using=using):
        _deliver(ids, row, using)


def _deliver(ids: Sequence[str], row: dict[str, Any], using: str) -> None:
    found = {workflow_id for (workflow_id,) in database.fetch("hold_receivers", {"ids": ids}, using)}
    for workflow_id in ids:
        if workflow_id not in found:
            raise WorkflowNotFound(workflow_id)
        if database.fetch("send_message", {**row, "workflow": workflow_id}, using):
            wake_for_message(workflow_id, row["topic"], using)
