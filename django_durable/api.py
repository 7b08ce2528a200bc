"""What code calls from anywhere: inside workflows, in views, in shells.

Each durable call has a twin for async code with the prefix `a`; an async body may use only the twins.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django_durable.core.options import Options
from django_durable.core.payloads.excerpt import quoted
from django_durable.engine.execution.context import workflow_id
from django_durable.engine.execution.drive import perform, twin
from django_durable.engine.execution.step_context import step_context
from django_durable.exceptions import InvalidOption

if TYPE_CHECKING:
    from django_durable.engine.handle import Handle

# The operations need the models, which may not be loaded when this module is: each call imports its own.


def sleep(delay: timedelta | float) -> None:
    """Wait, at no cost if it is long: the body leaves its worker and goes on by the database's clock.

    The instant of waking is recorded before the wait, so a restart does not begin it anew.
    """
    from django_durable.engine.waits import waiting

    return perform("sleep()", lambda: waiting.sleep(delay))


def send(
    workflow_id: str | Handle, message: Any, topic: str | None = None, *, idempotency_key: str | None = None
) -> None:
    """Put a message into a run's mailbox, in the caller's transaction; raises WorkflowNotFound.

    Inside a body it is a step. A message with an idempotency key that this run got before is dropped.
    """
    from django_durable.engine.handle import id_of
    from django_durable.engine.mailbox import messaging

    return perform("send()", lambda: messaging.send([id_of(workflow_id)], message, topic, idempotency_key))


def send_many(
    workflow_ids: Iterable[str | Handle],
    message: Any,
    topic: str | None = None,
    *,
    idempotency_key: str | None = None,
) -> None:
    """The same message to many runs: all get it, or none."""
    from django_durable.engine.handle import ids_of
    from django_durable.engine.mailbox import messaging

    ids = ids_of(workflow_ids)
    return perform("send_many()", lambda: messaging.send(ids, message, topic, idempotency_key))


def recv(topic: str | None = None, timeout: timedelta | float | None = None) -> Any:
    """The oldest message of the topic that was not received yet; None once the timeout has passed."""
    from django_durable.engine.mailbox import messaging

    return perform("recv()", lambda: messaging.recv(topic, timeout))


def set_event(key: str, value: Any) -> None:
    """Publish a value about this run; the last one wins."""
    from django_durable.engine.mailbox import events

    return perform("set_event()", lambda: events.set_event(key, value))


def get_event(workflow_id: str | Handle, key: str, timeout: timedelta | float | None = None) -> Any:
    """What a run published under the key, or None.

    Inside a body it waits until there is a value, or `timeout` has passed; elsewhere only if given one.
    Without one a body gets None once the run has ended, and WorkflowNotFound for a run that does not exist.
    """
    from django_durable.engine.handle import id_of
    from django_durable.engine.mailbox import events

    return perform("get_event()", lambda: events.get_event(id_of(workflow_id), key, timeout))


def write_stream(key: str, value: Any) -> None:
    """Append to a stream of this run."""
    from django_durable.engine.mailbox import streams

    return perform("write_stream()", lambda: streams.write_stream(key, value))


def close_stream(key: str) -> None:
    """End a stream of this run; its readers stop."""
    from django_durable.engine.mailbox import streams

    return perform("close_stream()", lambda: streams.close_stream(key))


def read_stream(workflow_id: str | Handle, key: str, position: int = 0) -> Iterator[Any]:
    """The values of a stream as they come, until it is closed or its run ends; raises WorkflowNotFound."""
    from django_durable.engine.handle import id_of
    from django_durable.engine.mailbox import streams

    return streams.read_stream(id_of(workflow_id), key, position)


def aread_stream(workflow_id: str | Handle, key: str, position: int = 0) -> AsyncIterator[Any]:
    """The same for `async for`."""
    from django_durable.engine.handle import id_of
    from django_durable.engine.mailbox import streams

    return streams.aread_stream(id_of(workflow_id), key, position)


def gather(*runs: str | Handle, return_exceptions: bool = False) -> list[Any]:
    """The results of all, in the order given; the first error in it is raised, unless told otherwise."""
    from django_durable.engine.waits import gathering

    return perform("gather()", lambda: gathering.gather(runs, return_exceptions=return_exceptions))


def wait_first(*runs: str | Handle) -> Handle:
    """The run that ended first, in whatever way; the others go on."""
    from django_durable.engine.waits import gathering

    return perform("wait_first()", lambda: gathering.wait_first(runs))


def patch(name: str) -> bool:
    """Whether this run takes the new branch: True for one that had not come here before the change."""
    from django_durable.engine.execution import patches

    return perform("patch()", lambda: patches.patch(name))


def deprecate_patch(name: str) -> None:
    """Stands where `patch` stood, once no run of the old branch is left."""
    from django_durable.engine.execution import patches

    return perform("deprecate_patch()", lambda: patches.deprecate_patch(name))


apatch = twin(patch)
adeprecate_patch = twin(deprecate_patch)
asleep = twin(sleep)
asend = twin(send)
asend_many = twin(send_many)
arecv = twin(recv)
aset_event = twin(set_event)
aget_event = twin(get_event)
awrite_stream = twin(write_stream)
aclose_stream = twin(close_stream)
agather = twin(gather)
await_first = twin(wait_first, "await_first")


def enqueue_by_name(name: str, /, *args: Any, options: Options | None = None, **kwargs: Any) -> Handle:
    """Enqueue a workflow whose code another service owns; the name is not looked up here.

    A parameter of the workflow's that is called `options` has to be given by position.
    """
    from django_durable.core.identifiers import check_identifier
    from django_durable.engine.launching import children

    checked = check_identifier("workflow name", name)
    if not isinstance(options, Options | None):
        raise InvalidOption(
            f"the options of enqueue_by_name() must be an Options; it is {quoted(options)}. "
            "What is meant for a parameter `options` of the workflow's has to be given by position"
        )
    return children.enqueue(checked, options or Options(), (args, kwargs), door="enqueue_by_name()")


def retrieve(workflow_id: str | Handle) -> Handle:
    """A handle on a run that exists; raises WorkflowNotFound."""
    from django_durable.engine.handle import Handle

    handle: Handle = perform("retrieve()", Handle(workflow_id).seen)
    return handle


aenqueue_by_name = twin(enqueue_by_name)
aretrieve = twin(retrieve)


__all__ = [
    "aclose_stream",
    "adeprecate_patch",
    "aenqueue_by_name",
    "agather",
    "aget_event",
    "apatch",
    "aread_stream",
    "arecv",
    "aretrieve",
    "asend",
    "asend_many",
    "aset_event",
    "asleep",
    "await_first",
    "awrite_stream",
    "close_stream",
    "deprecate_patch",
    "enqueue_by_name",
    "gather",
    "get_event",
    "patch",
    "read_stream",
    "recv",
    "retrieve",
    "send",
    "send_many",
    "set_event",
    "sleep",
    "step_context",
    "wait_first",
    "workflow_id",
    "write_stream",
]
