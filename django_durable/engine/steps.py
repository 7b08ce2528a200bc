"""One durable call of a body: find its checkpoint, else run it, record what came of it, go on.

An error is a result too: it is recorded, raised here now, and raised again at every replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django_durable.engine import payloads
from django_durable.engine.attempts import Attempted, Body, attempt
from django_durable.engine.context import Recorded, WorkflowContext
from django_durable.engine.outages import await_database, is_outage
from django_durable.engine.recorder import Checkpoint
from django_durable.engine.transactions import AtomicStep, refuse_open_transaction
from django_durable.exceptions import NotSerializable, PayloadTooLarge

if TYPE_CHECKING:
    from django_durable.core.declaration import StepDeclaration


def call_step(
    context: WorkflowContext, step: StepDeclaration, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The recorded result of this call, or the result of running it now, committed before it is returned."""
    refuse_open_transaction(context, f"step {step.name!r}")
    number = context.take_number()
    recorded = context.find(number, step.name)
    if recorded is not None:
        return replay(recorded)
    if step.wants_idempotency_key:
        kwargs.setdefault("idempotency_key", f"{context.run.id}-{number}")
    with context.watching_ownership():
        return _run(context, number, step, lambda: step.function(*args, **kwargs))


def replay(recorded: Recorded) -> Any:
    if recorded.error is not None:
        raise payloads.decode_error(recorded.error)
    return None if recorded.output is None else payloads.decode(recorded.output, recorded.serialization)


def _run(context: WorkflowContext, number: int, step: StepDeclaration, body: Body) -> Any:
    if step.atomic:
        ended, committed = AtomicStep(context, number, step, body).run()
    else:
        ended, committed = _attempt_through_outages(context, number, step, body), False
    if not committed:
        _record(context, number, step, ended)
    if ended.error is not None:
        raise ended.error
    return ended.value


def _attempt_through_outages(
    context: WorkflowContext, number: int, step: StepDeclaration, body: Body
) -> Attempted:
    while True:
        ended = attempt(step, body, workflow_id=context.run.id, number=number)
        if ended.error is None or not is_outage(ended.error, context.using):
            return ended
        await_database(context.using)


def _record(context: WorkflowContext, number: int, step: StepDeclaration, ended: Attempted) -> None:
    run = context.run
    output = error = None
    if ended.error is not None:
        error = payloads.encode_error(ended.error)
    else:
        try:
            output = payloads.encode(ended.value, f"the result of step {step.name!r}", run.serialization)
        except (NotSerializable, PayloadTooLarge) as refused:
            _record(context, number, step, ended._replace(value=None, error=refused))
            raise
    context.recorder.checkpoint(
        Checkpoint(
            run.id,
            run.token,
            number,
            step.name,
            output,
            error,
            run.serialization,
            attempts=ended.attempts,
            seconds=ended.seconds,
        )
    )
