"""Put runs in line, in the caller's transaction; what is already there is found, never overwritten."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, NoReturn

from django.db import transaction

from django_durable.conf import settings
from django_durable.core.options import Options
from django_durable.core.portions import portions
from django_durable.core.states import ACTIVE
from django_durable.core.uuid7 import uuid7
from django_durable.engine import payloads
from django_durable.engine.declared import workflows
from django_durable.engine.execution.ownership import guarded
from django_durable.engine.handle import Handle
from django_durable.engine.launching import surroundings
from django_durable.engine.launching.notices import give_notice
from django_durable.engine.launching.own_ids import free_ids, own_id
from django_durable.exceptions import (
    ConflictingWorkflow,
    Deduplicated,
    InvalidOption,
    PayloadTooLarge,
    WorkflowIDInUse,
)
from django_durable.models import DEFAULT_QUEUE, WorkflowStatus, database
from django_durable.signals import workflow_enqueued

INSERT_TRIES = 3

Call = tuple[tuple[Any, ...], dict[str, Any]]
Parent = tuple[str | None, int | None]  # its id and the number of the step that starts the child
NO_PARENT: Parent = (None, None)
logger = logging.getLogger("django_durable.enqueue")
NO_QUEUE = (
    "queue %r does not exist yet: its workflows wait until it is made, "
    "by DURABLE['QUEUES'] and migrate, in the admin, or with Queue.objects.set()"
)


def enqueue(name: str, options: Options, call: Call) -> Handle:
    """Put one run in line. Raises what the options say about an id or deduplication id that is taken."""
    return enqueue_encoded(name, options, encoded(name, call))


def enqueue_encoded(name: str, options: Options, given: str) -> Handle:
    """The same for arguments that are text already."""
    return guarded(lambda: _put(name, options, given, NO_PARENT))


def enqueue_child(name: str, options: Options, call: Call, parent: tuple[str, int]) -> Handle:
    """The same for a body; the id is made of its own and the number of the call, unless one is given.

    A run that bears such an id is another's, or was started by a call that is dropped: it is left alone.
    """
    given = encoded(name, call)
    if options.id is not None:
        return _put(name, options, given, parent)
    own = own_id(parent)
    while True:
        try:
            return _put(name, options.changed(id=own, on_conflict="reject"), given, parent)
        except (WorkflowIDInUse, ConflictingWorkflow):
            [own] = free_ids(parent, [None], database.alias())


def _put(name: str, options: Options, given: str, parent: Parent) -> Handle:
    using = database.alias()
    params = _params(name, options, parent)
    workflow_id = options.id or uuid7()
    for _ in range(INSERT_TRIES):
        if _insert(params, [(workflow_id, given)], using):
            return Handle(workflow_id, using)
        existing = _existing(name, workflow_id, options, params["queue"], using)
        if existing is not None:
            return existing
    raise RuntimeError(
        f"workflow {workflow_id!r} appeared and vanished {INSERT_TRIES} times while it was enqueued"
    )


def enqueue_many(name: str, options: Options, calls: Iterable[Call]) -> list[Handle]:
    """Put many runs in line, a thousand rows a statement; they share all options, so none that is unique."""
    if options.id is not None or options.deduplication_id is not None:
        refuse_shared_identity()
    return guarded(lambda: insert_many(name, options, [(uuid7(), call) for call in calls], NO_PARENT))


def enqueue_children(
    name: str, options: Options, calls: Sequence[Call], parent: tuple[str, int]
) -> list[str]:
    """The same for a body; returns the ids, made of its own, the number of the call and the place in it."""
    using = database.alias()
    while True:
        ids = free_ids(parent, range(1, len(calls) + 1), using)
        try:
            with transaction.atomic(using=using):
                insert_many(name, options, list(zip(ids, calls, strict=True)), parent)
            return ids
        except WorkflowIDInUse:  # a stranger took one since the look
            continue


def insert_many(
    name: str, options: Options, calls: Sequence[tuple[str, Call]], parent: Parent
) -> list[Handle]:
    """Put runs with these ids in line, all or none; raises WorkflowIDInUse if one of them is taken."""
    using = database.alias()
    params = _params(name, options, parent)
    rows = [(workflow_id, encoded(name, call)) for workflow_id, call in calls]
    batches = list(portions(rows, lambda row: len(row[1])))
    with transaction.atomic(using=using, savepoint=False) if len(batches) > 1 else nullcontext():
        for batch in batches:
            inserted = set(_insert(params, batch, using))
            for workflow_id, _ in batch:
                if workflow_id not in inserted:
                    raise WorkflowIDInUse(workflow_id)
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
        logger.warning(NO_QUEUE, params["queue"])
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
        "attributes": attributes_text(options),
        "headers": surroundings.capture(),
    }


def attributes_text(options: Options) -> str:
    """The attributes as they are stored; raises PayloadTooLarge."""
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


def _is_function(name: str, taken: str) -> bool:
    """Whether both name one function, be it by aliases of it."""
    return _own_name(taken) == _own_name(name)


def _own_name(name: str) -> str:
    """The name of today of a function that is known here."""
    return workflows.get(name).name if name in workflows else name


def _same_id(name: str, taken: str, workflow_id: str, options: Options, using: str) -> Handle:
    if not _is_function(name, taken):
        raise ConflictingWorkflow(workflow_id, taken, name)
    if options.on_conflict == "reject":
        raise WorkflowIDInUse(workflow_id)
    return Handle(workflow_id, using)
