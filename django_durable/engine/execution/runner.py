"""One execution of one claimed run: admit, read, execute, and write how it ended."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from django.db import transaction

from django_durable.claim.isolation import read_committed
from django_durable.conf import settings
from django_durable.core.declaration import WorkflowDeclaration
from django_durable.core.options import duration
from django_durable.core.outcomes import (
    Cancelled,
    Completed,
    Deferred,
    Failed,
    Outcome,
    Overtaken,
    Parked,
    Waiting,
)
from django_durable.core.payloads.classes import type_name
from django_durable.core.payloads.late import looked_up_at_once
from django_durable.core.run import Run
from django_durable.core.waits import Wait
from django_durable.engine import payloads
from django_durable.engine.declared import workflows
from django_durable.engine.execution.bodies import call_body, due_of
from django_durable.engine.execution.context import Recorded, WorkflowContext
from django_durable.engine.execution.effects import own
from django_durable.engine.execution.origins import Origin
from django_durable.engine.execution.outages import await_database, begin, is_outage, through_outages
from django_durable.engine.execution.steps import call_step
from django_durable.engine.execution.transactions import depth
from django_durable.engine.execution.writes import Ended, Ending, Recorder
from django_durable.engine.retrying import go_on
from django_durable.engine.waits.suspension import Left, suspend
from django_durable.exceptions import (
    Cancel,
    DeadlinePassed,
    Fail,
    InvalidOption,
    NotSerializable,
    PayloadTooLarge,
    Refused,
    Snooze,
    Superseded,
    Suspended,
    UnexpectedStep,
    UnknownSerialization,
    UnknownWorkflow,
    WorkflowCancelled,
    WorkflowParked,
)
from django_durable.instrument import instrument
from django_durable.models import database

SHORTEST_DEFERRAL = 5.0
LONGEST_DEFERRAL = 600.0
DEADLINE = "deadline"

logger = logging.getLogger("django_durable.outcomes")


class Runner:
    """Runs what a claim took; every write goes through `recorder`."""

    def __init__(self, recorder: Recorder, using: str) -> None:
        self.recorder = recorder
        self.using = using

    def run(self, run: Run, then: Ended = lambda held: None) -> Outcome:
        """Execute `run` to its outcome and hand that to the recorder; raises nothing of the body's."""
        with instrument("workflow", workflow=run.name, id=run.id, queue=run.queue) as facts:
            outcome = facts["outcome"] = self._admit(run)
        if isinstance(outcome, Waiting) and outcome.is_written:
            then(True)
        else:
            self.recorder.end(Ending(run.fence, outcome), then)
        return outcome

    def _admit(self, run: Run) -> Outcome:
        if run.claims > settings().max_recovery_attempts + 1:
            return Parked(payloads.encode_error(WorkflowParked(run.id)))
        try:
            declaration = workflows.get(run.name)
        except UnknownWorkflow as not_here:
            return self._leave_to_others(run, not_here)
        try:
            return self._execute(run, declaration)
        except Refused as refusal:  # that it leaves to wait, or goes on
            return self._try_later(run, refusal)

    def _try_later(self, run: Run, refusal: Refused) -> Outcome:
        extra = {"event": "refused", "workflow_id": run.id, "verb": refusal.verb}
        logger.error("%s; it is tried again later", refusal, exc_info=refusal, extra=extra)
        return Deferred(SHORTEST_DEFERRAL, forgiven=1)

    def _leave_to_others(self, run: Run, not_here: Exception) -> Outcome:
        """Another worker may have the code; each deferral is a tenth of the run's age, so it is never hot."""
        with instrument("workflow.unknown", workflow=run.name, id=run.id, problem=str(not_here)):
            age = (run.started_at - run.created_at).total_seconds()
        seconds = min(max(age / 10, SHORTEST_DEFERRAL), LONGEST_DEFERRAL)
        return Deferred(seconds, forgiven=1, keeps_place=True, error=payloads.encode_error(not_here))

    def _execute(self, run: Run, declaration: WorkflowDeclaration) -> Outcome:
        begin(self.using)
        due = due_of(run)
        history = self._history(run)
        while True:
            context = WorkflowContext(
                run,
                history,
                self.recorder,
                self.using,
                call_step,
                atomic_depth=depth(self.using),
                is_async=declaration.is_async,
                due=due,
            )
            ended = self._execute_once(context, declaration)
            if ended is not None:
                return ended
            history = self._history(run, read=True)

    def _execute_once(self, context: WorkflowContext, declaration: WorkflowDeclaration) -> Outcome | None:
        """None: the body runs again at once, since the database was away or what it waits for is there."""
        run = context.run
        try:  # anew each time, as a body may change what it is given
            args, kwargs = _arguments(run, declaration)
            declaration.check_call(args, kwargs)
        except UnknownSerialization as not_here:
            return self._leave_to_others(run, not_here)
        except BaseException as unreadable:
            if not is_outage(unreadable, self.using):
                return Failed(payloads.encode_error(unreadable))
        else:
            return self._call(context, declaration, args, kwargs)
        await_database(self.using)  # a row that they refer to was looked up
        return None

    def _call(
        self,
        context: WorkflowContext,
        declaration: WorkflowDeclaration,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Outcome | None:
        try:
            value = call_body(context, declaration, args, kwargs)
            what = f"the result of workflow {context.run.name!r}"
            return Completed(payloads.encode(value, what, context.run.serialization))
        except Suspended as suspended:
            return self._leave(context.run, suspended.wait)
        except BaseException as error:
            if not is_outage(error, self.using):
                return self._ended_by(error, context, declaration)
        await_database(self.using)
        return None

    def _leave(self, run: Run, wait: Wait) -> Outcome | None:
        if wait.is_sleep:
            return Waiting(wait)
        match through_outages(lambda: suspend(run.fence, wait, self.using), self.using):
            case Left.HAS_COME:
                return None
            case Left.SUPERSEDED:
                return Overtaken()
        return Waiting(wait, is_written=True)

    def _ended_by(
        self, error: BaseException, context: WorkflowContext, declaration: WorkflowDeclaration
    ) -> Outcome:
        origin = context.origin_of(error)
        try:
            outcome = _outcome_of(error, context.run, declaration, origin)
        except BaseException as fault:  # a value of the user's that cannot even be looked at
            return Failed(payloads.encode_error(_unreadable(error, fault)))
        if isinstance(outcome, Deferred) and outcome.failures:
            return self._retry(context.run, origin, outcome)
        return outcome

    def _retry(self, run: Run, origin: Origin | None, retry: Deferred) -> Outcome:
        """Drops first: a crash between the two repeats what failed, which is what the retry would do."""
        if origin is not None:
            try:
                through_outages(lambda: self._drop(run, origin, timedelta(seconds=retry.seconds)), self.using)
            except Superseded:
                return Overtaken()
        return retry

    def _drop(self, run: Run, origin: Origin, delay: timedelta) -> None:
        with read_committed(self.using), transaction.atomic(using=self.using):
            own(run.fence, self.using)
            go_on({run.id: origin}, self.using, delay=delay)

    def _history(self, run: Run, *, read: bool = False) -> dict[int, Recorded]:
        if not (run.has_history or read):
            return {}
        asked = {"id": run.id}
        rows = through_outages(lambda: database.fetch("read_steps", asked, self.using), self.using)
        return {row[0]: Recorded(*row) for row in rows}


def _arguments(run: Run, declaration: WorkflowDeclaration) -> tuple[tuple[Any, ...], dict[str, Any]]:
    with looked_up_at_once() if declaration.is_async else nullcontext():
        return payloads.decode_call(run.input, run.serialization)


def _outcome_of(
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


def _told(error: BaseException, origin: Origin | None) -> str:
    return payloads.encode_error(error, None if origin is None else {"origin": origin.written()})


def _unreadable(error: BaseException, fault: BaseException) -> InvalidOption:
    """With the lines of the body that led to it, and nothing else of either."""
    told = InvalidOption(
        f"the body ended with {type_name(type(error))}, and looking at that raised "
        f"{type_name(type(fault))}; raise it with plain values"
    )
    return told.with_traceback(error.__traceback__)


def _snoozed(delay: Any) -> Outcome:
    try:
        length = duration("the delay of Snooze", delay)
        if length is None:
            raise InvalidOption("the delay of Snooze must be a timedelta or a number of seconds; it is None")
    except InvalidOption as refused:
        return Failed(payloads.encode_error(refused))
    return Deferred(length.total_seconds(), forgiven=1)
