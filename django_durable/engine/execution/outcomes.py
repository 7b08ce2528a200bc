"""What the error that a body ended with makes of its run: an end, or another try later."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction

from django_durable.claim.isolation import read_committed
from django_durable.core.declaration import WorkflowDeclaration
from django_durable.core.options import duration
from django_durable.core.outcomes import Cancelled, Deferred, Failed, Outcome, Overtaken
from django_durable.core.payloads.classes import type_name
from django_durable.core.run import Run
from django_durable.engine import payloads
from django_durable.engine.execution.context import WorkflowContext
from django_durable.engine.execution.origins import Origin
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.ownership import own
from django_durable.engine.retrying import go_on
from django_durable.exceptions import (
    Cancel,
    DeadlinePassed,
    Fail,
    InvalidOption,
    NotSerializable,
    PayloadTooLarge,
    Snooze,
    Superseded,
    UnexpectedStep,
    WorkflowCancelled,
)

DEADLINE = "deadline"


def outcome_of(error: BaseException, context: WorkflowContext, declaration: WorkflowDeclaration) -> Outcome:
    """Before a retry of the whole, what led to the failure is dropped from the history."""
    origin = context.origin_of(error)
    try:
        outcome = _judged(error, context.run, declaration, origin)
    except BaseException as fault:  # a value of the user's that cannot even be looked at
        return Failed(payloads.encode_error(_unreadable(error, fault)))
    if isinstance(outcome, Deferred) and outcome.failures and origin is not None:
        return _retried(context, origin, outcome)
    return outcome


def _judged(
    error: BaseException, run: Run, declaration: WorkflowDeclaration, origin: Origin | None
) -> Outcome:
    match error:
        case Superseded():
            return Overtaken()
        case DeadlinePassed():
            return Cancelled(payloads.encode_error(WorkflowCancelled(run.id, DEADLINE)))
        case Snooze():
            return _snoozed(error.delay)
        case Cancel():
            return Cancelled(payloads.encode_error(WorkflowCancelled(run.id, error.reason)))
        case Fail() | UnexpectedStep() | NotSerializable() | PayloadTooLarge():
            return Failed(_told(error, origin))
    failures = run.attempt + 1
    if failures < run.max_attempts and declaration.retries.allows(error):
        return Deferred(declaration.retries.delay(failures, error), failures=1, error=_told(error, origin))
    return Failed(_told(error, origin))


def _snoozed(delay: Any) -> Outcome:
    try:
        length = duration("the delay of Snooze", delay)
        if length is None:
            raise InvalidOption("the delay of Snooze must be a timedelta or a number of seconds; it is None")
    except InvalidOption as refused:
        return Failed(payloads.encode_error(refused))
    return Deferred(length.total_seconds(), forgiven=1)


def _told(error: BaseException, origin: Origin | None) -> str:
    return payloads.encode_error(error, None if origin is None else {"origin": origin.written()})


def _unreadable(error: BaseException, fault: BaseException) -> InvalidOption:
    """With the lines of the body that led to it, and nothing else of either."""
    told = InvalidOption(
        f"the body ended with {type_name(type(error))}, and looking at that raised "
        f"{type_name(type(fault))}; raise it with plain values"
    )
    return told.with_traceback(error.__traceback__)


def _retried(context: WorkflowContext, origin: Origin, retry: Deferred) -> Outcome:
    """Drops first: a crash between the two repeats what failed, which is what the retry would do."""
    delay = timedelta(seconds=retry.seconds)
    try:
        through_outages(lambda: _drop(context, origin, delay), context.using)
    except Superseded:
        return Overtaken()
    return retry


def _drop(context: WorkflowContext, origin: Origin, delay: timedelta) -> None:
    with read_committed(context.using), transaction.atomic(using=context.using):
        own(context.fence, context.using)
        go_on({context.run.id: origin}, context.using, delay=delay)
