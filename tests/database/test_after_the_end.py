"""What a run lacks that goes on after its end: its deduplication id, and what a cancelled step gave."""

from __future__ import annotations

import pytest

from django_durable import control, step, workflow
from django_durable.core.states import Status
from django_durable.exceptions import Deduplicated
from django_durable.testing import drain

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "again",
    [
        lambda run: run.retry(),
        lambda run: run.rewind(to_step=1),
        lambda run: control.fork(run.id, new_id="the copy"),
    ],
    ids=["retry", "rewind", "fork"],
)
def test_a_deduplication_id_stays_with_who_holds_it_now(again):
    failing = [True]

    @workflow
    def nightly():
        if failing:
            raise OSError("no connection")

    keyed = nightly.using(deduplication_id="nightly")
    first = keyed.enqueue()
    drain()
    failing.clear()
    second = keyed.enqueue()

    again(first)
    assert second.record.deduplication_id == "nightly"
    with pytest.raises(Deduplicated) as refused:
        keyed.enqueue()
    assert refused.value.workflow_id == second.id
    drain()
    assert second.status == Status.SUCCESS
    assert not control.list_workflows(status=[Status.ENQUEUED, Status.DELAYED])


def test_a_step_that_a_cancel_met_at_work_is_called_again_with_its_key():
    keys = []

    @step
    def charge(*, idempotency_key=""):
        keys.append(idempotency_key)
        if len(keys) == 1:
            control.cancel(run.id)
        return len(keys)

    @workflow
    def pay():
        return charge()

    run = pay.enqueue()
    drain()
    assert run.status == Status.CANCELLED
    run.resume()
    drain()
    assert run.result() == 2
    assert keys == [keys[0]] * 2
