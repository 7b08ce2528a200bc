"""Errors of calls made where they cannot be: outside of a body, on another thread, in a transaction."""

from __future__ import annotations

from django_durable.exceptions.errors import DurableError


class OutsideWorkflow(DurableError, RuntimeError):
    """A durable call that needs a running workflow."""

    def __init__(self, call: str, place: str = "the body of a running workflow") -> None:
        super().__init__(f"{call} can only be called from {place}")


class InsideWorkflow(DurableError, RuntimeError):
    """A call that a replay could not answer alike."""

    def __init__(self, call: str) -> None:
        super().__init__(
            f"{call} is not recorded, so a workflow body cannot call it: a replay would see another answer; "
            "call it in a step"
        )


class AwaitNeeded(DurableError, RuntimeError):
    """A blocking durable call in an async body."""

    def __init__(self, call: str, instead: str) -> None:
        super().__init__(f"{call} would block the event loop of an async body; use `await {instead}`")


class AsyncBodyNeeded(DurableError, RuntimeError):
    """A long wait that is awaited in a body that is no async def, or calls of several tasks there."""

    def __init__(
        self,
        why: str = "a call that was awaited has to wait for longer than a worker stays with it",
        instead: str = "make the call in its blocking form, or the body async",
    ) -> None:
        super().__init__(f"{why}, and the body around it is no async def: {instead}")


class AnotherThread(DurableError, RuntimeError):
    """A durable call from a thread that is not the body's."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(
            f"a durable call of workflow {workflow_id!r} came from another thread than its body's; calls of "
            "several threads are numbered as they happen to come, and a replay would mix them up. Use them "
            "inside a step, or make the body an async def and use asyncio.gather; async code that a plain "
            "body needs is run by asgiref's async_to_sync"
        )
        self.workflow_id = workflow_id


class UnorderedTask(DurableError, RuntimeError):
    """A durable call in a task that was started in no order."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(
            f"asyncio.as_completed started a coroutine of workflow {workflow_id!r} that makes durable calls; "
            "it starts them in no order, so a replay could not tell which is which: make tasks first, as in "
            "asyncio.as_completed([asyncio.create_task(branch) for branch in branches])"
        )
        self.workflow_id = workflow_id


class UncountedTask(DurableError, RuntimeError):
    """A durable call in a task that the loop's task factory did not make."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(
            f"a task of workflow {workflow_id!r} makes durable calls that nobody counts: another task "
            "factory made it, or asyncio.Task itself, and a replay could not tell its calls from those of "
            "others; start it with asyncio.create_task, gather or a TaskGroup, and let a factory that the "
            "body sets call the one that was there"
        )
        self.workflow_id = workflow_id


class TooManyBranches(DurableError, RuntimeError):
    """Two calls of an async body fell on one number."""

    def __init__(self, workflow_id: str, number: int) -> None:
        super().__init__(
            f"two calls of workflow {workflow_id!r} fell on the number {number}: its body makes too many "
            "calls in tasks within tasks; make child workflows of some"
        )
        self.workflow_id = workflow_id
        self.number = number


class InsideTransaction(DurableError, RuntimeError):
    """A call that needs a transaction of its own."""

    def __init__(self, call: str) -> None:
        super().__init__(
            f"{call} needs a transaction of its own, so it cannot run inside atomic(): "
            "its locks and counts would rest on an old snapshot"
        )
