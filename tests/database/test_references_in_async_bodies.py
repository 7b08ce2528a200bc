"""Rows that async code gets out of a payload are there at once: it cannot fetch them when it needs them."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync

from django_durable import aread_stream, arecv, send, step, workflow, write_stream
from django_durable.core.states import Status
from django_durable.engine.references import Reference
from django_durable.exceptions import ReferenceLost
from tests.drain import row
from tests.testapp.models import Ledger

pytestmark = pytest.mark.django_db


@pytest.fixture
def entry():
    return Ledger.objects.create(run_id="r", step="s", amount=4)


def test_an_async_body_reads_the_rows_among_its_arguments(drain, entry):
    @workflow(name="rows.argument")
    async def body(entries):
        return entries[0].amount

    run = body.enqueue([entry])
    drain()
    assert run.result() == 4


@pytest.mark.parametrize("give", [lambda entry: entry, lambda entry: [entry], lambda entry: {entry: 1}])
def test_a_replay_gives_the_rows_of_a_step_as_the_first_execution_did(die_once, entry, give):
    seen = []

    @step
    def load():
        return give(entry)

    @workflow(name="rows.replay")
    async def body():
        loaded = await load.acall()
        seen.append(loaded.amount if loaded == entry else next(iter(loaded)).amount)
        die_once()

    run = die_once.then_run(body.enqueue())
    assert (run.status, seen) == (Status.SUCCESS, [4, 4])


def test_a_row_held_by_a_recorded_error_is_there_too(die_once, entry):
    seen = []

    @step
    def refuse():
        raise ValueError(entry)

    @workflow(name="rows.error")
    async def body():
        try:
            await refuse.acall()
        except ValueError as error:
            seen.append(error.args[0].amount)
        die_once()

    assert die_once.then_run(body.enqueue()).status == Status.SUCCESS
    assert seen == [4, 4]


def test_a_row_that_is_gone_is_missed_at_its_first_use_alone(drain, entry):
    @workflow(name="rows.gone")
    async def body(entry):
        try:
            return entry.amount
        except ReferenceLost as lost:
            return lost.label

    run = body.enqueue(entry)
    entry.delete()
    drain()
    assert run.result() == "testapp.Ledger"


def test_a_message_brings_its_row(drain, entry):
    @workflow(name="rows.message")
    async def body():
        return (await arecv()).amount

    run = body.enqueue()
    send(run.id, entry)
    drain()
    assert run.result() == 4


def test_async_code_outside_of_runs_reads_results_and_streams_with_their_rows(drain, entry):
    @workflow(name="rows.streamed")
    def body(entry):
        write_stream("rows", entry)
        return entry

    async def read():
        streamed = [value.amount async for value in aread_stream(run, "rows")]
        return streamed, (await run.aresult()).amount

    run = body.enqueue(entry)
    drain()
    assert async_to_sync(read)() == ([4], 4)


def test_a_plain_body_still_fetches_no_row_before_it_looks_at_it(drain, entry):
    seen = []

    @workflow(name="rows.plain")
    def body(entry):
        seen.append("_setupfunc" in vars(entry) and type(entry) is Reference)

    run = body.enqueue(entry)
    entry.delete()
    drain()
    assert row(run).status == Status.SUCCESS
    assert seen == [True]
