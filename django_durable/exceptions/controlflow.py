"""What unwinds a body; no `except Exception` swallows it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django_durable.core.fence import Fence
    from django_durable.core.waits import Wait


class ControlFlow(BaseException):
    """Root of what unwinds a body; never recorded as the outcome of a step."""


class Superseded(ControlFlow):
    """Another claim, a cancel or a takeover ended this execution's ownership."""

    def __init__(self, fence: Fence) -> None:
        super().__init__(f"claim {fence.token} of workflow {fence.workflow_id!r} was superseded")
        self.fence = fence


class Suspended(ControlFlow):
    """The body was unwound; the run waits in the table until what `wait` says."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(f"suspended: {wait}")
        self.wait = wait


class DeadlinePassed(ControlFlow):
    """The run's deadline went by while its body ran."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"the deadline of workflow {workflow_id!r} has passed")
        self.workflow_id = workflow_id


class GivenUp(ControlFlow):
    """An async body was cancelled while it waited for this call; what the call gives is not recorded."""


class Snooze(ControlFlow):
    """Raise it in a workflow body: run again after `delay`, without spending an attempt."""

    def __init__(self, delay: timedelta | float) -> None:
        super().__init__(f"snoozed for {delay}")
        self.delay = delay


class Fail(ControlFlow):
    """Raise it in a workflow body: end in ERROR now, whatever attempts are left. The reason is str()ed."""

    def __init__(self, reason: object = "") -> None:
        self.reason = "" if reason is None else str(reason)
        super().__init__(self.reason)


class Cancel(ControlFlow):
    """Raise it in a workflow body: end in CANCELLED with this reason, which is str()ed."""

    def __init__(self, reason: object = "") -> None:
        self.reason = "" if reason is None else str(reason)
        super().__init__(self.reason)
