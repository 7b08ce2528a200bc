"""A superseded execution's writes of every kind are refused, however it was superseded."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction
from django.db.models.functions import Now

from django_durable.claim.claimer import Claimer
from django_durable.engine.execution.recorder import write_checkpoints, write_endings
from django_durable.engine.execution.writes import Checkpoint, Ending
from django_durable.models import StepOutput, WorkflowStatus, database
from tests.races.executions import (
    ENDINGS,
    USING,
    as_it_stands,
    cancel,
    checkpoint,
    claim,
    end,
    owner,
    recover,
    release,
    running,
    status,
)
from tests.testapp.models import Ledger


def recovered(run):
    recover(owner(run))


def claimed_again(run):
    recover(owner(run))
    claim(run.queue)


def claimed_again_by_the_same_worker(run):
    mine = owner(run)
    recover(mine)
    Claimer(mine, USING).claim(run.queue, 1)


def cancelled(run):
    cancel(run.id)


def ended_by_its_successor(run):
    recover(owner(run))
    (successor,) = claim(run.queue)
    checkpoint(successor)
    end(successor, "complete")


def timed_out(run):
    WorkflowStatus.objects.filter(pk=run.id).update(deadline=Now() - timedelta(seconds=1))
    database.fetch("time_out", {"batch": 10, "error": "{}", "refused": []}, USING)


def released(run):
    release(run)


@transaction.atomic
def atomic_step(run):
    Ledger.objects.create(run_id=run.id, step="a")
    if not checkpoint(run):
        transaction.set_rollback(True)
        return False
    return True


WRITES = {
    "checkpoint": checkpoint,
    "next checkpoint": lambda run: checkpoint(run, 2),
    "atomic step": atomic_step,
    "release": release,
    **{how: partial(end, how=how) for how in ENDINGS},
}
SUPERSEDED = [
    recovered,
    claimed_again,
    claimed_again_by_the_same_worker,
    cancelled,
    ended_by_its_successor,
    timed_out,
    released,
]


@pytest.mark.parametrize("superseded", SUPERSEDED, ids=lambda way: way.__name__)
def test_no_write_of_a_superseded_execution_is_taken_and_none_changes_anything(race, superseded):
    zombie, other = race.side(), race.side()
    for write in WRITES:
        run = zombie.do(running, write, write)
        other.do(superseded, run)
        before = as_it_stands(write)
        assert (write, zombie.do(WRITES[write], run)) == (write, False)
        assert as_it_stands(write) == before
    assert not Ledger.objects.exists()


def test_the_owners_writes_are_taken_each(race):
    side = race.side()
    assert {write: side.do(call, running(write, write)) for write, call in WRITES.items()} == dict.fromkeys(
        WRITES, True
    )


def test_a_batch_writes_for_its_owners_and_refuses_only_the_lost(race):
    runs = [running(name) for name in "abc"]
    cancel("b")
    rows = [Checkpoint(run.id, run.token, 1, "step", "1", None, "json") for run in runs]
    assert len(write_checkpoints(rows, USING)) == 2
    assert set(StepOutput.objects.values_list("workflow_id", "step")) == {("a", 1), ("c", 1)}
    endings = [Ending(run.fence, ENDINGS["complete"]) for run in runs]
    assert write_endings(endings, USING) == {runs[0].fence, runs[2].fence}
    assert [status(name) for name in "abc"] == ["SUCCESS", "CANCELLED", "SUCCESS"]
