"""A step whose own writes and checkpoint commit together: its effects here happen exactly once."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from django_durable.engine import payloads
from django_durable.engine.execution.attempts import Attempted, Attempts, Body
from django_durable.engine.execution.between_tries import rest
from django_durable.engine.execution.conflicts import Conflicts
from django_durable.engine.execution.context import WorkflowContext
from django_durable.engine.execution.history import read_step, replayed
from django_durable.engine.execution.operations import Operation, Pause
from django_durable.engine.execution.outages import await_database, is_outage, through_outages
from django_durable.engine.execution.recorder import CommittedBefore, write_checkpoint
from django_durable.engine.execution.step_context import running_step
from django_durable.engine.execution.writes import Checkpoint
from django_durable.exceptions import ControlFlow, NotSerializable, PayloadTooLarge


class AtomicStep:
    """One call of an atomic step; `run` ends once value and checkpoint are committed."""

    def __init__(self, context: WorkflowContext, attempts: Attempts, body: Body) -> None:
        self.context = context
        self.attempts = attempts
        self.step = attempts.step
        self.body = body
        # what refused the result: another try would give the same
        self.unstorable: BaseException | None = None

    def run(self) -> Operation:
        """How the step ended, and whether its checkpoint is committed (a failure's is not)."""
        conflicts = Conflicts()
        while True:
            try:
                return self._commit(), True
            except CommittedBefore:
                return self._found(), True
            except ControlFlow:
                raise
            except BaseException as error:
                failure = error
            if is_outage(failure, self.context.using):
                await_database(self.context.using)
            elif (pause := conflicts.pause(failure)) is not None:
                yield Pause(pause)
            else:
                conflicts = Conflicts()
                ended = self.attempts.failed(failure, again=failure is not self.unstorable)
                if isinstance(ended, Attempted):
                    return ended, False
                yield from rest(self.context, self.attempts, ended)

    def _commit(self) -> Attempted:
        with transaction.atomic(using=self.context.using):
            with running_step(self.attempts.context):
                value = self.body()
            self.context.refuse_given_up(self.attempts.number or 0)
            ended = self.attempts.succeeded(value)
            self._record(ended)
        return ended

    def _found(self) -> Attempted:
        """How an earlier try ended that was committed although its answer got lost."""
        run, number, using = self.context.run, self.attempts.number or 0, self.context.using
        recorded = through_outages(lambda: read_step(run.id, number, using), using)
        return self.attempts.succeeded(replayed(recorded))

    def _record(self, ended: Attempted) -> None:
        run = self.context.run
        output = self._encode(ended.value)
        checkpoint = Checkpoint(
            run.id,
            run.token,
            self.attempts.number or 0,
            self.step.name,
            output,
            None,
            run.serialization,
            attempts=ended.attempts,
            seconds=ended.seconds,
        )
        if not write_checkpoint(checkpoint, self.context.using):
            raise CommittedBefore

    def _encode(self, value: Any) -> str:
        try:
            return payloads.encode(value, f"the result of {self.step.title}", self.context.run.serialization)
        except (NotSerializable, PayloadTooLarge) as refused:
            self.unstorable = refused
            raise
