"""Every error of the package, drawn as the tree it is.

::

    DurableError
    ├── InvalidIdentifier          an id, key or name that cannot be stored as it is
    ├── InvalidOption              an option of enqueue or of a declaration
    ├── NotSerializable            a value that would not come back as it went in
    ├── PayloadTooLarge
    ├── PayloadUnreadable          stored text that cannot be turned back into values
    ├── UnknownSerialization       a row written by a serializer this process lacks
    ├── DuplicateDeclaration       two functions under one name
    ├── UnknownWorkflow            no function of that name is registered here
    ├── WorkflowNotFound           no such row
    ├── ConflictingWorkflow        the id belongs to a run of another function
    ├── WorkflowIDInUse            the id is taken and the caller asked for a new run
    ├── Deduplicated               an active run holds the deduplication id
    ├── TransitionRefused          the run's status does not allow the verb
    ├── ResultTimeout              the run did not end in time; it goes on
    ├── UnexpectedStep             a replay met another step than the one recorded
    ├── StepFailed                 an error that could not be rebuilt with its own type
    ├── StepRetriesExhausted
    ├── StepTimeout
    ├── WorkflowFailed             a run ended in ERROR and its error cannot be rebuilt
    ├── WorkflowCancelled          a run ended in CANCELLED
    ├── WorkflowParked             a run was dispatched too often and set aside
    ├── OutsideWorkflow            a durable call that needs a running workflow
    └── InsideTransaction          a call that needs a transaction of its own

    ControlFlow (BaseException: user code's `except Exception` must not swallow it)
    ├── Superseded                 this execution no longer owns the run; it may write nothing
    ├── Suspended                  the run leaves the worker and waits in the table
    ├── Snooze                     raised by a body: try again later, no attempt spent
    ├── Fail                       raised by a body: ERROR now, attempts left or not
    └── Cancel                     raised by a body: CANCELLED
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django_durable.core.fence import Fence


class DurableError(Exception):
    """Root of the errors a caller may catch."""


class InvalidIdentifier(DurableError, ValueError):
    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind} {reason}")
        self.kind = kind
        self.reason = reason


class InvalidOption(DurableError, ValueError):
    pass


class NotSerializable(DurableError, TypeError):
    """`path` leads to the value, `where` says what was to be stored."""

    def __init__(self, where: str, path: str, type_name: str, hint: str) -> None:
        super().__init__(f"{where} cannot be stored: {path} is of type {type_name}; {hint}")
        self.where = where
        self.path = path
        self.type_name = type_name
        self.hint = hint


class PayloadTooLarge(DurableError, ValueError):
    """Sizes are bytes."""

    def __init__(self, where: str, size: int, limit: int) -> None:
        super().__init__(
            f"{where} takes {size} bytes, above the limit of {limit}; store it elsewhere and pass a reference, "
            "or raise DURABLE['MAX_PAYLOAD']"
        )
        self.where = where
        self.size = size
        self.limit = limit


class PayloadUnreadable(DurableError, ValueError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"a stored payload cannot be read: {reason}")
        self.reason = reason


class UnknownSerialization(DurableError, LookupError):
    def __init__(self, tag: str, known: Sequence[str]) -> None:
        super().__init__(
            f"a payload was written by the serializer {tag!r}, and this process reads only {', '.join(known)}; "
            "set DURABLE['SERIALIZER'] as its writer had it"
        )
        self.tag = tag
        self.known = tuple(known)


class DuplicateDeclaration(DurableError):
    pass


class UnknownWorkflow(DurableError, LookupError):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"no workflow named {name!r} is registered in this process; "
            "is the app that declares it in INSTALLED_APPS, and does it sit in workflows.py or tasks.py?"
        )
        self.name = name


class WorkflowNotFound(DurableError, LookupError):
    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"no workflow has the id {workflow_id!r}")
        self.workflow_id = workflow_id


class ConflictingWorkflow(DurableError):
    def __init__(self, workflow_id: str, existing: str, wanted: str) -> None:
        super().__init__(
            f"workflow id {workflow_id!r} already belongs to a run of {existing!r}, "
            f"so it cannot name a run of {wanted!r}; choose another id"
        )
        self.workflow_id = workflow_id


class WorkflowIDInUse(DurableError):
    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"workflow id {workflow_id!r} is already in use and on_conflict='reject' was asked for")
        self.workflow_id = workflow_id


class Deduplicated(DurableError):
    """An active run of the queue holds the deduplication id; `workflow_id` names it."""

    def __init__(self, queue: str, deduplication_id: str, workflow_id: str) -> None:
        super().__init__(
            f"queue {queue!r} already has an active workflow with deduplication_id {deduplication_id!r}: "
            f"{workflow_id!r}"
        )
        self.queue = queue
        self.deduplication_id = deduplication_id
        self.workflow_id = workflow_id


class TransitionRefused(DurableError):
    def __init__(self, verb: str, workflow_id: str, status: str) -> None:
        super().__init__(f"cannot {verb} workflow {workflow_id!r}: it is {status}")
        self.verb = verb
        self.workflow_id = workflow_id
        self.status = status


class ResultTimeout(DurableError, TimeoutError):
    def __init__(self, workflow_id: str, timeout: float) -> None:
        super().__init__(f"workflow {workflow_id!r} has no result after {timeout:g} s; it goes on")
        self.workflow_id = workflow_id


class UnexpectedStep(DurableError):
    """The body called another step than the one its history holds at this number."""

    def __init__(self, workflow: str, number: int, recorded: str, called: str) -> None:
        super().__init__(
            f"workflow {workflow!r} called step {called!r} as number {number}, where its history holds "
            f"{recorded!r}; a workflow body must make the same durable calls in the same order on every run. "
            "Was the code changed while this run was under way?"
        )
        self.workflow = workflow
        self.number = number
        self.recorded = recorded
        self.called = called


class StepFailed(DurableError):
    """An error that was recorded as data and cannot be rebuilt with its own type here."""

    def __init__(self, path: str, message: str, traceback: str = "") -> None:
        super().__init__(f"{path}: {message}" if message else path)
        self.path = path
        self.message = message
        self.traceback = traceback


class StepRetriesExhausted(DurableError):
    """Every attempt of a step failed; `errors` holds them in order."""

    def __init__(self, step: str, errors: Sequence[BaseException]) -> None:
        last = errors[-1] if errors else None
        super().__init__(f"step {step!r} failed {len(errors)} times; the last error was {last!r}")
        self.step = step
        self.errors = list(errors)


class StepTimeout(DurableError, TimeoutError):
    def __init__(self, step: str, seconds: float) -> None:
        super().__init__(f"step {step!r} took longer than {seconds:g} s")
        self.step = step


class WorkflowFailed(DurableError):
    """A run ended in ERROR; `path`, `message` and `traceback` describe what its body raised."""

    def __init__(self, workflow_id: str, path: str, message: str, traceback: str = "") -> None:
        super().__init__(f"workflow {workflow_id!r} failed: {path}: {message}")
        self.workflow_id = workflow_id
        self.path = path
        self.message = message
        self.traceback = traceback


class WorkflowCancelled(DurableError):
    def __init__(self, workflow_id: str, reason: str = "") -> None:
        super().__init__(f"workflow {workflow_id!r} was cancelled{': ' + reason if reason else ''}")
        self.workflow_id = workflow_id
        self.reason = reason


class WorkflowParked(DurableError):
    def __init__(self, workflow_id: str) -> None:
        super().__init__(
            f"workflow {workflow_id!r} was set aside after too many dispatches that never ended; "
            "look at what kills its worker, then resume it"
        )
        self.workflow_id = workflow_id


class OutsideWorkflow(DurableError, RuntimeError):
    def __init__(self, call: str) -> None:
        super().__init__(f"{call} can only be called from the body of a running workflow")


class InsideTransaction(DurableError, RuntimeError):
    def __init__(self, call: str) -> None:
        super().__init__(
            f"{call} needs a transaction of its own, so it cannot run inside atomic(): "
            "its locks and counts would rest on an old snapshot"
        )


class ControlFlow(BaseException):
    """Root of what unwinds a body; never recorded as the outcome of a step."""


class Superseded(ControlFlow):
    """Another claim, a cancel or a takeover ended this execution's ownership."""

    def __init__(self, fence: Fence) -> None:
        super().__init__(f"claim {fence.token} of workflow {fence.workflow_id!r} was superseded")
        self.fence = fence


class Suspended(ControlFlow):
    """The body was unwound; the run waits in the table until `wake_at` or a notice on `topic`."""

    def __init__(self, *, seconds: float | None = None, topic: str | None = None) -> None:
        super().__init__(f"suspended for {seconds} s on {topic!r}")
        self.seconds = seconds
        self.topic = topic


class Snooze(ControlFlow):
    """Raise it in a workflow body: run again after `delay`, without spending an attempt."""

    def __init__(self, delay: timedelta | float) -> None:
        super().__init__(f"snoozed for {delay}")
        self.delay = delay


class Fail(ControlFlow):
    """Raise it in a workflow body: end in ERROR now, whatever attempts are left."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Cancel(ControlFlow):
    """Raise it in a workflow body: end in CANCELLED with this reason."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
