"""One durable run of a workflow function, from enqueue to outcome."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce

from django_durable.core.options import EARLIEST, LATEST, LONGEST
from django_durable.core.states import ACTIVE, FINAL, LABELS, Status
from django_durable.models.executor import Executor
from django_durable.models.fields import ElementsIndex, Joined, KeyField, TextsField, Xid8Field
from django_durable.models.workflow_manager import WorkflowManager

ONLY_WHILE_QUEUED = ("line", "group_line", "enqueued_xid", "arrival")
ONLY_WHILE_RUNNING = ("claim_token", "executor")


def _exactly_while(statuses: frozenset[Status], columns: tuple[str, ...]) -> Q:
    filled = Q(status__in=sorted(statuses))
    empty = ~Q(status__in=sorted(statuses))
    for column in columns:
        filled &= Q(**{f"{column}__isnull": False})
        empty &= Q(**{f"{column}__isnull": True})
    return filled | empty


def _readable() -> Q:
    """Times that Python can read back: one infinite instant would break each claim and list it is part of."""
    instants = ("created_at", "delay_until", "expires_at", "deadline", "wake_at")
    within = Q(timeout__range=(timedelta(0), LONGEST))
    for instant in instants:
        within &= Q(**{f"{instant}__range": (EARLIEST, LATEST)})
    return within


class WorkflowStatus(models.Model):
    """One run of a workflow function. Rows are evidence: only the engine's statements change them."""

    id = KeyField(primary_key=True)
    name = models.TextField(db_comment="Registered name of the workflow function")
    status = models.TextField(choices=[(status.value, LABELS[status]) for status in Status])
    queue = models.TextField()
    priority = models.SmallIntegerField(default=0, db_comment="Higher first")
    rank = models.GeneratedField(
        expression=-models.F("priority"), output_field=models.SmallIntegerField(), db_persist=True
    )

    seq = models.BigIntegerField(null=True, editable=False, db_comment="Place in line, kept for life")
    line = models.BigIntegerField(null=True, editable=False, db_comment="seq while ENQUEUED, else null")
    group_line = models.BigIntegerField(null=True, editable=False, db_comment="seq while ENQUEUED, else null")
    enqueued_xid = Xid8Field(
        null=True, editable=False, db_comment="Transaction that enqueued the row; null unless ENQUEUED"
    )
    arrival = models.BigIntegerField(
        null=True, editable=False, db_comment="Order of entering the line; null unless ENQUEUED"
    )

    partition_key = models.TextField(null=True)
    limit_key = models.TextField(null=True)
    group_key = models.GeneratedField(
        expression=Coalesce(
            Joined("p:", "partition_key"),
            Joined("k:", "limit_key"),
            models.Value("", output_field=models.TextField()),
        ),
        output_field=models.TextField(),
        db_persist=True,
        db_comment="What fairness is fair between",
    )
    deduplication_id = models.TextField(null=True)
    app_version = models.TextField(null=True)

    attempt = models.IntegerField(default=0, db_comment="Failed runs of the body")
    max_attempts = models.IntegerField(default=1)
    claims = models.IntegerField(default=0, db_comment="Dispatches since the last reset")
    claim_token = models.UUIDField(null=True, editable=False)
    executor = models.ForeignKey(
        Executor,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="runs",
    )
    claim_seq = models.BigIntegerField(
        null=True, editable=False, db_comment="Order of claims; null unless PENDING or WAITING"
    )

    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    delay_until = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True, db_comment="Cancelled if not started by then")
    started_at = models.DateTimeField(null=True, db_comment="Last claim")
    completed_at = models.DateTimeField(null=True)
    timeout = models.DurationField(null=True, db_comment="From the claim")
    deadline = models.DateTimeField(null=True)
    wake_at = models.DateTimeField(null=True)
    wait_topic = models.TextField(null=True)
    wait_topics = TextsField(null=True, editable=False, db_comment="What ends a wait for several things")

    input = models.TextField()
    output = models.TextField(null=True)
    error = models.TextField(null=True)
    serialization = models.TextField(default="json")

    parent = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="children",
    )
    parent_step = models.IntegerField(null=True)
    forked_from = models.TextField(null=True)
    schedule_name = models.TextField(null=True)
    attributes = models.JSONField(default=dict)
    headers = models.JSONField(default=dict)
    awaited = models.BooleanField(default=False, db_comment="Somebody waits for the outcome")

    objects = WorkflowManager()

    class Meta:
        db_table = "durable_workflow_status"
        verbose_name = "workflow"
        verbose_name_plural = "workflows"
        default_permissions = ("view", "delete")  # nobody adds or edits a run: the engine does
        permissions = [
            ("cancel_workflow", "Can cancel workflows"),
            ("resume_workflow", "Can resume cancelled and parked workflows"),
            ("retry_workflow", "Can retry failed workflows"),
            ("view_payload", "Can see what goes into workflows and comes out of them"),
        ]
        indexes = [
            models.Index(
                fields=["queue", "rank", "line"],
                include=["id", "partition_key", "limit_key", "app_version", "expires_at"],
                condition=Q(line__isnull=False),
                name="durable_line",
            ),
            models.Index(
                fields=["queue", "group_key", "rank", "group_line"],
                include=["id", "partition_key", "limit_key", "app_version", "expires_at"],
                condition=Q(group_line__isnull=False),
                name="durable_group_line",
            ),
            models.Index(
                fields=["enqueued_xid"], condition=Q(enqueued_xid__isnull=False), name="durable_tail"
            ),
            models.Index(fields=["arrival"], condition=Q(arrival__isnull=False), name="durable_arrival"),
            models.Index(
                fields=["queue", "claim_seq"],
                include=["partition_key", "limit_key", "group_key", "executor", "status"],
                condition=Q(claim_seq__isnull=False, queue__isnull=False),  # no count by key proves a queue
                name="durable_in_flight",
            ),
            models.Index(
                fields=["limit_key", "claim_seq"],
                include=["queue", "status"],
                condition=Q(limit_key__isnull=False, claim_seq__isnull=False),
                name="durable_limit_in_flight",
            ),
            models.Index(fields=["executor"], condition=Q(executor__isnull=False), name="durable_owned"),
            models.Index(fields=["delay_until"], condition=Q(status=Status.DELAYED), name="durable_due"),
            models.Index(
                fields=["queue", "wake_at"],
                condition=Q(status=Status.WAITING, claim_seq__isnull=False),
                name="durable_wake",
            ),
            models.Index(
                fields=["queue", "wake_at"],
                condition=Q(status=Status.WAITING, claim_seq__isnull=True),
                name="durable_wake_into_line",
            ),
            models.Index(
                fields=["wait_topic"],
                condition=Q(status=Status.WAITING, wait_topic__isnull=False),
                name="durable_waiters",
            ),
            ElementsIndex(
                fields=["wait_topics"],
                condition=Q(status=Status.WAITING, wait_topic="any"),
                name="durable_waiters_for_several",
            ),
            models.Index(
                fields=["deadline"],
                condition=Q(deadline__isnull=False, status__in=sorted(ACTIVE)),
                name="durable_deadline",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False, status__in=[Status.DELAYED, Status.ENQUEUED]),
                name="durable_expiry",
            ),
            models.Index(
                fields=["completed_at"], condition=Q(completed_at__isnull=False), name="durable_settled"
            ),
            models.Index(fields=["parent"], condition=Q(parent__isnull=False), name="durable_children"),
            models.Index(models.F("created_at").desc(), models.F("id").desc(), name="durable_newest"),
            models.Index(
                fields=["status", "-created_at", "-id"],
                condition=Q(status__in=sorted(FINAL - {Status.SUCCESS})),
                name="durable_unsuccessful",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "deduplication_id"],
                condition=Q(deduplication_id__isnull=False),
                name="durable_deduplication",
            ),
            models.CheckConstraint(condition=Q(status__in=sorted(Status)), name="durable_status_known"),
            models.CheckConstraint(condition=~Q(id=""), name="durable_id_not_empty"),
            models.CheckConstraint(condition=_readable(), name="durable_times_readable"),
            models.CheckConstraint(
                condition=_exactly_while(frozenset({Status.ENQUEUED}), ONLY_WHILE_QUEUED),
                name="durable_in_line",
            ),
            models.CheckConstraint(
                condition=_exactly_while(frozenset({Status.PENDING}), ONLY_WHILE_RUNNING),
                name="durable_owned_while_running",
            ),
            models.CheckConstraint(
                condition=_exactly_while(FINAL, ("completed_at",)), name="durable_completed_when_final"
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.DELAYED) | Q(delay_until__isnull=False),
                name="durable_delay_has_an_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"
