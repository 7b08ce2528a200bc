"""What a claim's commit waits for, and what it leaves as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from django_durable.claim.claimer import Claimer
from django_durable.core.states import Status
from django_durable.models import Queue
from django_durable.models.database import Clock
from django_durable.signals import transition
from tests.factories import ExecutorFactory, WorkflowFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)


def commits_wait() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        return bool(cursor.fetchone()[0] == "on")


@pytest.fixture(autouse=True)
def durable() -> Iterator[None]:
    """The tests' server commits without waiting anyway; a user's does not."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
        yield
        cursor.execute("RESET synchronous_commit")


@pytest.fixture
def waited() -> Iterator[list[bool]]:
    """Whether the commit of each claim made meanwhile waits for the disk."""
    found: list[bool] = []

    def note(verb: str, **_: Any) -> None:
        if verb == "claim":
            found.append(commits_wait())

    transition.connect(note)
    yield found
    transition.disconnect(note)


@pytest.mark.parametrize("kind", ["head", "windows", "woken"])
def test_a_claim_commits_without_waiting_for_the_disk_and_nothing_after_it_does(kind, waited):
    Queue.objects.update_or_create(name="default", defaults={"fair": kind == "windows"})
    is_woken = kind == "woken"
    put = WorkflowFactory.create(status=Status.WAITING, wake_at=Clock()) if is_woken else echo.enqueue(1)
    claims = Claimer(ExecutorFactory.create().id, "default").claim("default", 5)
    assert [claimed.id for claimed in claims.runs] == [put.id]
    assert waited == [False]
    assert commits_wait()
