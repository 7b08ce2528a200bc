"""One claimed run, executed to its outcome, or put off by this worker; what came of it is written."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from django_durable.conf import settings
from django_durable.core.outcomes import Deferred, Outcome, Parked, Waiting
from django_durable.core.run import Run
from django_durable.engine import payloads
from django_durable.engine.declared import workflows
from django_durable.engine.execution.deferrals import Deferrals
from django_durable.engine.execution.executions import execute
from django_durable.engine.execution.writes import Ending, Recorder
from django_durable.exceptions import Refused, UnknownSerialization, UnknownWorkflow, WorkflowParked
from django_durable.instrument import instrument

Told = Callable[[Outcome, bool], None]

SHORTEST_DEFERRAL = 5.0
LONGEST_DEFERRAL = 600.0

logger = logging.getLogger("django_durable.outcomes")


class Runner:
    """Runs what a claim took; every write goes through `recorder`."""

    def __init__(self, recorder: Recorder, using: str) -> None:
        self.recorder = recorder
        self.using = using
        self._deferrals = Deferrals()

    def run(self, run: Run, then: Told = lambda outcome, held: None) -> Outcome:
        """Execute `run` to its outcome and hand that to the recorder; raises nothing of the body's.

        `then` learns the outcome, and whether the run was still this execution's when it was written.
        """
        with instrument("workflow", workflow=run.name, id=run.id, queue=run.queue) as facts:
            outcome = facts["outcome"] = self._outcome(run)
        if isinstance(outcome, Waiting) and outcome.is_written:
            then(outcome, True)
        else:
            self.recorder.end(Ending(run.fence, outcome), partial(then, outcome))
        return outcome

    def _outcome(self, run: Run) -> Outcome:
        if run.claims > settings().max_recovery_attempts + 1:
            return Parked(payloads.encode_error(WorkflowParked(run.id)))
        try:
            return execute(run, workflows.get(run.name), self.recorder, self.using)
        except (UnknownWorkflow, UnknownSerialization) as not_here:
            return self._left_to_others(run, not_here)
        except Refused as refusal:  # that it leaves to wait, or goes on
            return _tried_later(run, refusal)

    def _left_to_others(self, run: Run, not_here: Exception) -> Outcome:
        """Another worker may have the code; each deferral is a tenth of the run's age, so it is never hot."""
        with instrument("workflow.unknown", workflow=run.name, id=run.id, problem=str(not_here)):
            age = (run.started_at - run.created_at).total_seconds()
        seconds = self._deferrals.after(max(age / 10, SHORTEST_DEFERRAL), time.monotonic())
        error = payloads.encode_error(not_here)
        return Deferred(min(seconds, LONGEST_DEFERRAL), forgiven=1, keeps_place=True, error=error)


def _tried_later(run: Run, refusal: Refused) -> Outcome:
    extra = {"event": "refused", "workflow_id": run.id, "verb": refusal.verb}
    logger.error("%s; it is tried again later", refusal, exc_info=refusal, extra=extra)
    return Deferred(SHORTEST_DEFERRAL, forgiven=1)
