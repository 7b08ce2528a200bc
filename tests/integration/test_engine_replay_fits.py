"""A replay of unchanged code fits, however its run ended, and changes nothing, whatever the body does."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.db import transaction

from django_durable import Cancel, Fail, Snooze, control, gather, recv, sleep, step, wait_first, workflow
from django_durable.exceptions import WorkflowNotFound
from django_durable.models import AppVersion, Queue, WorkflowStatus
from django_durable.models.database import Clock
from django_durable.testing import drain
from tests.integration.test_engine_replay import (
    _only_the_declarations_of_the_project,
    deploy,
    first,
    recorded,
    replay,
)

__all__ = ["_only_the_declarations_of_the_project"]
pytestmark = pytest.mark.django_db


class Unimportable(Exception):
    pass


Unimportable.__qualname__ = "Gone"


@step
def breaks():
    raise Unimportable("in a step")


def raises(error):
    raise error


def passes_on_what_is_not_there():
    for look in (
        lambda: gather(control.handle("nobody")),
        lambda: wait_first(control.handle("nobody")),
        lambda: control.handle("nobody").status,
    ):
        with suppress(WorkflowNotFound):
            look()
    sleep(0)


ENDS = {
    "a value": lambda: 1,
    "nothing": lambda: None,
    "what equals nothing": lambda: [float("nan")],
    "Fail": lambda: raises(Fail("no")),
    "Cancel": lambda: raises(Cancel("no")),
    "Snooze": lambda: raises(Snooze(60)),
    "an error": lambda: raises(ValueError("no")),
    "an unimportable error": lambda: raises(Unimportable("no")),
    "an unimportable error of a step": lambda: breaks(),
    "SystemExit": lambda: raises(SystemExit(3)),
    "a value that cannot be stored": lambda: object(),
    "a long sleep": lambda: sleep(3600),
    "what is not there": passes_on_what_is_not_there,
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("use_tz", [True, False], ids=["aware", "naive"])
def test_unchanged_code_fits_however_the_run_ended(settings, end, use_tz):
    settings.USE_TZ = use_tz
    run = recorded(ENDS[end])
    assert "calls replayed" in replay(run)


def test_a_parked_run_fits():
    run = recorded(lambda: first())
    WorkflowStatus.objects.filter(pk=run.id).update(status="MAX_RECOVERY_ATTEMPTS_EXCEEDED", output=None)
    assert "1 of 1 calls replayed" in replay(run)


def test_a_set_that_is_written_in_another_order_fits():
    texts = [f"text {n}" for n in range(1000)]
    backwards = texts[::-1]
    run = recorded(lambda: set(texts))
    deploy(lambda: set(backwards))
    assert "0 of 0 calls replayed" in replay(run)


@pytest.mark.parametrize("now", [{"other"}, {"text", "more"}, None])
def test_another_set_is_still_another_value(now):
    run = recorded(lambda: {"text"})
    deploy(lambda: now)
    with pytest.raises(CommandError, match="another value"):
        replay(run)


@pytest.mark.parametrize("now", [Fail("no"), KeyError("no"), SystemExit(3)])
def test_another_error_is_still_told(now):
    run = recorded(lambda: raises(ValueError("no")))
    deploy(lambda: raises(now))
    with pytest.raises(CommandError, match="it raised"):
        replay(run)


def test_a_replay_pauses_unpauses_and_promotes_nothing():
    AppVersion.objects.create(name="one", registered_at=Clock(), promoted_at=Clock())

    def manages():
        first()
        control.pause(["default"])
        control.unpause(["default"])
        control.pause(["default"])
        control.set_latest_version("one")
        return 2

    run = recorded(manages)
    control.unpause(["default"])
    before = AppVersion.objects.values().get()
    assert "5 of 5 calls replayed" in replay(run)
    assert Queue.objects.get(pk="default").paused_at is None
    assert AppVersion.objects.values().get() == before


def writes():
    first()
    Group.objects.create(name=f"group {Group.objects.count()}")


def writes_and_goes_on():
    first()
    with suppress(Exception), transaction.atomic():
        Group.objects.create(name=f"group {Group.objects.count()}")


def locks():
    first()
    with transaction.atomic():
        list(Group.objects.select_for_update())


@pytest.mark.parametrize("body", [writes, writes_and_goes_on, locks])
def test_a_body_that_writes_itself_is_told_so_and_changes_nothing(body):
    run = recorded(body)
    before = list(Group.objects.values())
    with pytest.raises(CommandError, match="after call 1 the body itself writes"):
        replay(run)
    assert list(Group.objects.values()) == before
    Group.objects.create(name="the transaction around it goes on")


def test_a_body_that_reads_the_database_is_replayed(django_capture_on_commit_callbacks):
    told = []

    def reads():
        first()
        transaction.on_commit(lambda: told.append("committed"))
        return Group.objects.count()

    run = recorded(reads)
    told.clear()
    with django_capture_on_commit_callbacks(execute=True):
        assert "1 of 1 calls replayed" in replay(run)
    assert told == []


@pytest.mark.django_db(transaction=True)
def test_an_async_body_that_writes_itself_is_told_so():
    @workflow(name="replayed")
    async def writes():
        await Group.objects.acreate(name=f"group {await Group.objects.acount()}")

    run = writes.enqueue()
    drain()
    with pytest.raises(CommandError, match="INSERT INTO"):
        call_command("durable_replay", run.id)
    assert Group.objects.count() == 1


def test_a_run_under_way_that_waits_fits():
    run = recorded(lambda: recv("m"))
    assert "it would go on with call 1, durable.recv" in replay(run)
