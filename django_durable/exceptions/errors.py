"""Errors that a caller may catch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class DurableError(Exception):
    """Root of the errors a caller may catch."""


class InvalidIdentifier(DurableError, ValueError):
    """An id, key or name that cannot be stored as it is."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind} {reason}")
        self.kind = kind
        self.reason = reason


class InvalidOption(DurableError, ValueError):
    """Of enqueue, of a declaration, or of another call."""


class InvalidLimit(DurableError, ValueError):
    """What a limit or a queue cannot be set to; `what` names the one that was left as it was."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}")
        self.what = what
        self.reason = reason


class NotSerializable(DurableError, TypeError):
    """A value that would not come back as it went in; `path` leads to it, `where` tells what is stored."""

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
            f"{where}: {size} bytes are above the limit of {limit}; store it elsewhere and pass a key, "
            "or raise DURABLE['MAX_PAYLOAD']"
        )
        self.where = where
        self.size = size
        self.limit = limit


class PayloadUnreadable(DurableError, ValueError):
    """Stored text that cannot be turned back into values."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"a stored payload cannot be read: {reason}")
        self.reason = reason


class UnknownSerialization(DurableError, LookupError):
    """A row was written by a serializer that this process lacks."""

    def __init__(self, tag: str, known: Sequence[str]) -> None:
        super().__init__(
            f"a payload was written by the serializer {tag!r}, and this process reads {', '.join(known)}; "
            "set DURABLE['SERIALIZER'] as its writer had it"
        )
        self.tag = tag
        self.known = tuple(known)


class ReferenceLost(DurableError, LookupError):
    """A payload refers to a row that is gone."""

    def __init__(self, label: str, key: object) -> None:
        super().__init__(f"the {label} {key!r} that a payload refers to does not exist any more")
        self.label = label
        self.key = key


class DuplicateDeclaration(DurableError):
    """Two functions under one name."""


class UnknownWorkflow(DurableError, LookupError):
    """No workflow function of that name is registered here."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no workflow named {name!r} is registered in this process; "
            "is the app that declares it in INSTALLED_APPS, and does it sit in workflows.py or tasks.py?"
        )
        self.name = name


class WorkflowNotFound(DurableError, LookupError):
    """No such row."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"no workflow has the id {workflow_id!r}")
        self.workflow_id = workflow_id


class ConflictingWorkflow(DurableError):
    """The id belongs to a run of another workflow function."""

    def __init__(self, workflow_id: str, existing: str, wanted: str) -> None:
        super().__init__(
            f"workflow id {workflow_id!r} already belongs to a run of {existing!r}, "
            f"so it cannot name a run of {wanted!r}; choose another id"
        )
        self.workflow_id = workflow_id


class WorkflowIDInUse(DurableError):
    """The id is taken, and the caller asked for a new run."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(
            f"workflow id {workflow_id!r} is already in use and on_conflict='reject' was asked for"
        )
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
    """The run's status does not allow the verb."""

    def __init__(self, verb: str, workflow_id: str, status: str) -> None:
        super().__init__(f"cannot {verb} workflow {workflow_id!r}: it is {status}")
        self.verb = verb
        self.workflow_id = workflow_id
        self.status = status


class Refused(DurableError):
    """A receiver of `transition` raised, so the run stays as it was; no value or connection is at fault."""

    def __init__(self, workflow_id: str, verb: str) -> None:
        what = "the outcome" if verb == "settle" else f"the {verb}"
        super().__init__(f"a receiver of 'transition' refused {what} of workflow {workflow_id!r}")
        self.workflow_id = workflow_id
        self.verb = verb

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.workflow_id, self.verb)


class ResultTimeout(DurableError, TimeoutError):
    """The run did not end in time; it goes on."""

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
    """A try of a step took longer than it may."""

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
    """A run ended in CANCELLED."""

    def __init__(self, workflow_id: str, reason: object = "") -> None:
        self.workflow_id = workflow_id
        self.reason = "" if reason is None else str(reason)
        super().__init__(f"workflow {workflow_id!r} was cancelled{': ' + self.reason if self.reason else ''}")


class ChildCancelled(WorkflowCancelled):
    """A run that a workflow body waited for was cancelled; an ordinary error of the waiting body."""


class WorkflowParked(DurableError):
    """A run was claimed too often without an end, and set aside."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(
            f"workflow {workflow_id!r} was set aside after too many claims that never ended; "
            "look at what kills its worker, then resume it"
        )
        self.workflow_id = workflow_id


class StreamClosed(DurableError):
    """A value was written to a stream behind its end."""

    def __init__(self, workflow_id: str, key: str) -> None:
        super().__init__(f"stream {key!r} of workflow {workflow_id!r} is closed; nothing can follow its end")
        self.workflow_id = workflow_id
        self.key = key
