"""Tell runs that wait in the table that what they wait for is there, in the transaction that makes it so.

Whoever is about to wait holds its own row FOR UPDATE and looks once more before it leaves; whoever announces
something either sees it waiting, or is seen. A wake-up cannot get lost between the two.
"""

from __future__ import annotations

from collections.abc import Sequence

from django_durable.engine.launching.notices import give_notice
from django_durable.models import database


def wake_waiters(settled: Sequence[str], using: str) -> None:
    """Wake who waits for these runs, which were settled in the open transaction."""
    if settled and database.fetch("wake_for_runs", {"ids": list(settled)}, using):
        give_notice(using)


def wake_for_event(workflow_id: str, key: str, using: str) -> None:
    """Wake who waits for this event, which was set in the open transaction."""
    if database.fetch("wake_for_topic", {"topic": f"event {workflow_id} {key}"}, using):
        give_notice(using)


def wake_for_message(workflow_id: str, topic: str, using: str) -> None:
    """Wake the receiver of a message, which was sent in the open transaction."""
    if database.fetch("wake_for_message", {"id": workflow_id, "topic": topic}, using):
        give_notice(using)
