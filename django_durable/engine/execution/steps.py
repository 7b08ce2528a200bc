"""One step of a body: find its checkpoint, else run it, record what came of it, go on.

An error is a result too: it is recorded, raised here now, and raised again at every replay.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from django_durable.core.declaration import StepDeclaration
from django_durable.core.payloads.late import may_hold
from django_durable.engine import payloads
from django_durable.engine.execution.atomic_steps import AtomicStep
from django_durable.engine.execution.attempts import Attempted, Attempts, Body, try_once
from django_durable.engine.execution.between_tries import remembered, rest
from django_durable.engine.execution.context import WorkflowContext
from django_durable.engine.execution.drive import perform
from django_durable.engine.execution.history import replayed
from django_durable.engine.execution.operations import Light, Operation, Raised, at_once
from django_durable.engine.execution.outages import await_database, is_outage
from django_durable.engine.execution.transactions import refuse_open_transaction
from django_durable.engine.execution.writes import Checkpoint
from django_durable.exceptions import NotSerializable, PayloadTooLarge


def call_step(
    context: WorkflowContext, step: StepDeclaration, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The recorded result of this call, or that of running it now, which is handed over to be recorded."""
    return perform(
        step.title,
        lambda: _begin(context, step, args, kwargs),
        is_async=step.is_async,
        instead=f"{getattr(step.function, '__name__', 'its')}.acall()",
    )


def _begin(
    context: WorkflowContext, step: StepDeclaration, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Operation | Light:
    if not context.is_async:
        refuse_open_transaction(context, step.title)
    number = context.take_number()
    recorded = context.find(number, step.name)
    if recorded is not None:
        answer = at_once(lambda: replayed(recorded))
        return answer if may_hold(recorded.output) or may_hold(recorded.error) else Light(answer)
    if step.lacks_idempotency_key(args, kwargs):
        kwargs = {**kwargs, "idempotency_key": _idempotency_key(context.run.id, number, step.name)}
    running = _run(context, number, step, lambda: step.function(*args, **kwargs))
    has_tried = -number in context.history
    return Light(running) if step.is_async and not has_tried else running


def _idempotency_key(workflow_id: str, number: int, name: str) -> str:
    """Of this step alone: another one may get the number of one that a retry or a rewind dropped."""
    return f"{workflow_id}-{number}-{sha256(name.encode()).hexdigest()[:8]}"


def _run(context: WorkflowContext, number: int, step: StepDeclaration, body: Body) -> Operation:
    attempts = Attempts(step, context.run.id, number)
    if -number in context.history:
        yield from remembered(context, attempts)
    committed = False
    if step.atomic:
        ended, committed = yield from AtomicStep(context, attempts, body).run()
    else:
        ended = yield from _attempt_through_outages(context, attempts, body)
    if not committed:
        context.refuse_given_up(number)
        refused = _record(context, number, step, ended)
        if refused is not None:
            return Raised(refused, (number,))
    return ended.value if ended.error is None else Raised(ended.error, (number,))


def _attempt_through_outages(context: WorkflowContext, attempts: Attempts, body: Body) -> Operation:
    while True:
        value, error = yield from try_once(attempts, body)
        if error is not None and is_outage(error, context.using):
            await_database(context.using)
            continue
        ended = attempts.ended((value, error))
        if isinstance(ended, Attempted):
            return ended
        yield from rest(context, attempts, ended)


def _record(
    context: WorkflowContext, number: int, step: StepDeclaration, ended: Attempted
) -> BaseException | None:
    """Record how the step ended; returns the error that a result which cannot be stored is recorded as."""
    run = context.run
    output = error = refusal = None
    try:
        if ended.error is None:
            output = payloads.encode(ended.value, f"the result of {step.title}", run.serialization)
    except (NotSerializable, PayloadTooLarge) as refused:
        refusal = refused
    if failure := refusal or ended.error:
        error = payloads.encode_error(failure)
    context.record(
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
    return refusal
