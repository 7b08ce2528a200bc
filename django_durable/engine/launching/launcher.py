"""Put runs in line, in the caller's transaction; what is already there is found, never overwritten."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NoReturn

from django_durable.conf import settings
from django_durable.core.identifiers import MAX_BYTES
from django_durable.core.options import Options
from django_durable.core.states import ACTIVE
from django_durable.core.uuid7 import uuid7
from django_durable.engine import payloads
from django_durable.engine.declared import workflows
from django_durable.engine.execution.effects import guarded
from django_durable.engine.handle import Handle
from django_durable.engine.launching import surroundings
from django_durable.engine.launching.notices import give_notice
from django_durable.exceptions import (
    ConflictingWorkflow,
    Deduplicated,
    InvalidOption,
    PayloadTooLarge,
    WorkflowIDInUse,
)
from django_durable.models import DEFAULT_QUEUE, WorkflowStatus, database
from django_durable.signals import workflow_enqueued

ROWS_A_STATEMENT = 1000
INSERT_TRIES = 3

Call = tuple[tuple[Any, ...], dict[str, Any]]
Parent = tuple[str | None, int | None]  # its id and the number of the step that starts the child
NO_PARENT: Parent = (None, None)
logger = logging.getLogger("django_durable.enqueue")


def enqueue(name: str, options: Options, call: Call) -> Handle:
    """Put one run in line. Raises what the options say about an id or deduplication id that is taken."""
    return enqueue_encoded(name, options, encoded(name, call))


def enqueue_encoded(name: str, options: Options, given: str) -> Handle:
    """The same for arguments that are text already."""
    return guarded(lambda: _put(name, options, given, NO_PARENT)[0])


def enqueue_child(name: str, options: Options, call: Call, parent: tuple[str, int]) -> Handle:
    """The same for a body; the id is made of its own and the number of the call, unless one is given."""
    own = own_id(*parent) if options.id is None else None
    child, is_new = _put(name, options.changed(id=own or options.id), encoded(name, call), parent)
    if not is_new and child.id == own:
        _refuse_strangers(name, [own], parent, child.using)
    return child


def own_id(parent: str, *numbers: int) -> str:
    """The id of a child: its parent's and the number of the call; a digest stands for one too long."""
    tail = "".join(f"-{number}" for number in numbers)
    if len(parent.encode()) + len(tail) <= MAX_BYTES:
        return f"{parent}{tail}"
    return f"{sha256(parent.encode()).hexdigest()}{tail}"


def _put(name: str, options: Options, given: str, parent: Parent) -> tuple[Handle, bool]:
    """The run, and whether it is new."""
    using = database.alias()
    params = _params(name, options, parent)
    workflow_id = options.id or uuid7()
    for _ in range(INSERT_TRIES):
        if _insert(params, [(workflow_id, given)], using):
            return Handle(workflow_id, using), True
        existing = _existing(name, workflow_id, options, params["queue"], using)
        if existing is not None:
            return existing, False
    raise RuntimeError(
        f"workflow {workflow_id!r} appeared and vanished {INSERT_TRIES} times while it was enqueued"
    )


def enqueue_many(name: str, options: Options, calls: Iterable[Call]) -> list[Handle]:
    """Put many runs in line, a thousand rows a statement; they share all options, so none that is unique."""
    if options.id is not None or options.deduplication_id is not None:
        refuse_shared_identity()
    return guarded(lambda: insert_many(name, options, [(uuid7(), call) for call in calls], NO_PARENT))


def insert_many(
    name: str, options: Options, calls: Sequence[tuple[str, Call]], parent: Parent
) -> list[Handle]:
    """Put runs with these ids in line; those that are there already stay as they are."""
    using = database.alias()
    params = _params(name, options, parent)
    rows = [(workflow_id, encoded(name, call)) for workflow_id, call in calls]
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        batch = rows[start : start + ROWS_A_STATEMENT]
        if len(_insert(params, batch, using)) < len(batch):
            _refuse_strangers(name, [workflow_id for workflow_id, _ in batch], parent, using)
    return [Handle(workflow_id, using) for workflow_id, _ in rows]


def encoded(name: str, call: Call) -> str:
    """The arguments as they are stored; an error names the parameter, where the function is known here."""
    return payloads.encode_call(*call, names=workflows.get(name).parameters if name in workflows else ())


def refuse_shared_identity() -> NoReturn:
    raise InvalidOption("enqueue_many() makes many runs, so they cannot share an id or a deduplication_id")


def _insert(params: dict[str, Any], rows: Sequence[tuple[str, str]], using: str) -> list[str]:
    ids, inputs = zip(*rows, strict=True)
    inserted: list[str]
    inserted, queue_exists = WorkflowStatus.objects.db_manager(using).insert(
        {**params, "ids": list(ids), "inputs": list(inputs)}
    )
    if not queue_exists:
        logger.warning("queue %r does not exist yet: its workflows wait until it is created", params["queue"])
    if inserted:
        give_notice(using)
        workflow_enqueued.send_robust(Handle, ids=inserted, name=params["name"], queue=params["queue"])
    return inserted


def _params(name: str, options: Options, parent: Parent) -> dict[str, Any]:
    return {
        "name": name,
        "queue": options.queue or DEFAULT_QUEUE,
        "priority": options.priority or 0,
        "partition_key": options.partition_key,
        "limit_key": options.limit_key,
        "deduplication_id": options.deduplication_id,
        "app_version": options.app_version or settings().app_version,
        "max_attempts": options.max_attempts or 1,
        "run_at": options.run_at,
        "delay": options.delay,
        "expires_at": options.expires_at,
        "expires_in": options.expires_in,
        "timeout": options.timeout,
        "deadline": options.deadline,
        "serialization": payloads.own().tag,
        "parent": parent[0],
        "parent_step": parent[1],
        "schedule_name": None,
        "attributes": _attributes(options),
        "headers": surroundings.capture(),
    }


def _attributes(options: Options) -> str:
    text = json.dumps(dict(options.attributes))
    limit = settings().max_payload
    if len(text) > limit:
        raise PayloadTooLarge("attributes", len(text), limit)
    return text


def _existing(name: str, workflow_id: str, options: Options, queue: str, using: str) -> Handle | None:
    runs = WorkflowStatus.objects.using(using)
    taken = runs.filter(pk=workflow_id).values_list("name", flat=True).first()
    if taken is not None:
        return _same_id(name, taken, workflow_id, options, using)
    live = runs.filter(
        queue=queue,
        deduplication_id=options.deduplication_id,
        deduplication_id__isnull=False,
        status__in=ACTIVE,
    )
    holder = live.values_list("id", flat=True).first()
    if holder is None:
        return None  # it ended between the insert and this look: try again
    if options.on_duplicate == "reject":
        raise Deduplicated(queue, str(options.deduplication_id), holder)
    return Handle(holder, using)


def _refuse_strangers(name: str, ids: Sequence[str], parent: Parent, using: str) -> None:
    """An id that was made for a child may be another run's, which would be taken for the child."""
    rows = WorkflowStatus.objects.using(using).filter(pk__in=ids).order_by("pk")
    for workflow_id, taken, starter in rows.values_list("pk", "name", "parent_id"):
        if starter != parent[0] or not _is_function(name, taken):
            raise ConflictingWorkflow(workflow_id, taken, name, parent[0])


def _is_function(name: str, taken: str) -> bool:
    """Whether a row's name is that of the function, be it by an alias of it."""
    return taken == name or (taken in workflows and workflows.get(taken).name == name)


def _same_id(name: str, taken: str, workflow_id: str, options: Options, using: str) -> Handle:
    if not _is_function(name, taken):
        raise ConflictingWorkflow(workflow_id, taken, name)
    if options.on_conflict == "reject":
        raise WorkflowIDInUse(workflow_id)
    return Handle(workflow_id, using)
