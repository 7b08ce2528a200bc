"""Every error of the package, drawn as the tree it is.

::

    DurableError
    ├── InvalidIdentifier          an id, key or name that cannot be stored as it is
    ├── InvalidOption              an option of enqueue or of a declaration
    ├── InvalidLimit               what a limit or a queue cannot be set to
    ├── NotSerializable            a value that would not come back as it went in
    ├── PayloadTooLarge
    ├── PayloadUnreadable          stored text that cannot be turned back into values
    ├── UnknownSerialization       a row written by a serializer this process lacks
    ├── ReferenceLost              a payload refers to a row that was deleted
    ├── DuplicateDeclaration       two functions under one name
    ├── UnknownWorkflow            no function of that name is registered here
    ├── WorkflowNotFound           no such row
    ├── ConflictingWorkflow        the id belongs to a run of another function
    ├── WorkflowIDInUse            the id is taken and the caller asked for a new run
    ├── Deduplicated               an active run holds the deduplication id
    ├── TransitionRefused          the run's status does not allow the verb
    ├── Refused                    a receiver of the signal `transition` did not let a change be
    ├── ResultTimeout              the run did not end in time; it goes on
    ├── UnexpectedStep             a replay met another step than the one recorded
    ├── StepFailed                 an error that could not be rebuilt with its own type
    ├── StepRetriesExhausted
    ├── StepTimeout
    ├── WorkflowFailed             a run ended in ERROR and its error cannot be rebuilt
    ├── WorkflowCancelled          a run ended in CANCELLED
    │   └── ChildCancelled         the same, to the body that waited for it
    ├── WorkflowParked             a run was dispatched too often and set aside
    ├── OutsideWorkflow            a durable call that needs a running workflow
    ├── InsideWorkflow             a call that a replay could not answer alike
    ├── StreamClosed
    ├── AwaitNeeded                a blocking durable call in an async body
    ├── AnotherThread              a durable call from a thread that is not the body's
    ├── TooManyBranches            two calls of an async body fell on one number
    ├── UnorderedTask              a durable call in a task that was started in no order
    ├── AsyncBodyNeeded            a long wait that is awaited in a body that is no async def
    └── InsideTransaction          a call that needs a transaction of its own

    ControlFlow (BaseException: user code's `except Exception` must not swallow it)
    ├── Superseded                 this execution no longer owns the run; it may write nothing
    ├── Suspended                  the run leaves the worker and waits in the table
    ├── DeadlinePassed             the run's time is up
    ├── GivenUp                    the body was cancelled while it waited for this call
    ├── Snooze                     raised by a body: try again later, no attempt spent
    ├── Fail                       raised by a body: ERROR now, attempts left or not
    └── Cancel                     raised by a body: CANCELLED
"""

from __future__ import annotations

from django_durable.exceptions.controlflow import (
    Cancel,
    ControlFlow,
    DeadlinePassed,
    Fail,
    GivenUp,
    Snooze,
    Superseded,
    Suspended,
)
from django_durable.exceptions.errors import (
    ChildCancelled,
    ConflictingWorkflow,
    Deduplicated,
    DuplicateDeclaration,
    DurableError,
    InvalidIdentifier,
    InvalidLimit,
    InvalidOption,
    NotSerializable,
    PayloadTooLarge,
    PayloadUnreadable,
    ReferenceLost,
    Refused,
    ResultTimeout,
    StepFailed,
    StepRetriesExhausted,
    StepTimeout,
    StreamClosed,
    TransitionRefused,
    UnexpectedStep,
    UnknownSerialization,
    UnknownWorkflow,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowIDInUse,
    WorkflowNotFound,
    WorkflowParked,
)
from django_durable.exceptions.misplaced import (
    AnotherThread,
    AsyncBodyNeeded,
    AwaitNeeded,
    InsideTransaction,
    InsideWorkflow,
    OutsideWorkflow,
    TooManyBranches,
    UnorderedTask,
)

__all__ = [
    "AnotherThread",
    "AsyncBodyNeeded",
    "AwaitNeeded",
    "Cancel",
    "ChildCancelled",
    "ConflictingWorkflow",
    "ControlFlow",
    "DeadlinePassed",
    "Deduplicated",
    "DuplicateDeclaration",
    "DurableError",
    "Fail",
    "GivenUp",
    "InsideTransaction",
    "InsideWorkflow",
    "InvalidIdentifier",
    "InvalidLimit",
    "InvalidOption",
    "NotSerializable",
    "OutsideWorkflow",
    "PayloadTooLarge",
    "PayloadUnreadable",
    "ReferenceLost",
    "Refused",
    "ResultTimeout",
    "Snooze",
    "StepFailed",
    "StepRetriesExhausted",
    "StepTimeout",
    "StreamClosed",
    "Superseded",
    "Suspended",
    "TooManyBranches",
    "TransitionRefused",
    "UnexpectedStep",
    "UnknownSerialization",
    "UnknownWorkflow",
    "UnorderedTask",
    "WorkflowCancelled",
    "WorkflowFailed",
    "WorkflowIDInUse",
    "WorkflowNotFound",
    "WorkflowParked",
]

for _name in __all__:  # where they are to be imported from, as tracebacks and records name it
    globals()[_name].__module__ = __name__
