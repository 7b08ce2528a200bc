"""Streams: ordered, append-only, readable while they grow."""

from __future__ import annotations

from itertools import islice

import pytest
from asgiref.sync import async_to_sync

from django_durable import (
    aread_stream,
    awrite_stream,
    close_stream,
    read_stream,
    recv,
    send,
    step,
    workflow,
    write_stream,
)
from django_durable.core.states import Status
from django_durable.exceptions import InsideWorkflow, OutsideWorkflow, StreamClosed, WorkflowNotFound
from django_durable.models import StreamEntry

pytestmark = pytest.mark.django_db


@pytest.fixture
def writer():
    @workflow(name="writes")
    def writes():
        write_stream("log", "first")
        write_stream("log", None)
        write_stream("other", 0)
        order = recv()
        write_stream("log", "last")
        if order == "close":
            close_stream("log")
            recv("stay")

    return writes


def test_a_reader_gets_what_is_there_then_what_comes_and_stops_at_the_close(drain, writer):
    run = writer.enqueue()
    drain()
    values = read_stream(run.id, "log")
    assert list(islice(values, 2)) == ["first", None]
    send(run.id, "close")
    drain()
    assert list(values) == ["last"]
    assert run.status == Status.WAITING


def test_a_reader_stops_when_the_writer_has_ended_without_closing(drain, writer):
    run = writer.enqueue()
    send(run.id, "end")
    drain()
    assert list(read_stream(run.id, "log")) == ["first", None, "last"]
    assert list(read_stream(run.id, "log", position=2)) == ["last"]
    assert list(read_stream(run.id, "nothing")) == []


def test_a_cancelled_writer_ends_its_streams(drain, writer):
    run = writer.enqueue()
    drain()
    run.cancel()
    assert list(read_stream(run.id, "log")) == ["first", None]


def test_more_values_than_one_look_reads_come_in_order(drain):
    @workflow(name="floods")
    def floods():
        for number in range(250):
            write_stream("log", number)

    run = floods.enqueue()
    drain()
    assert list(read_stream(run.id, "log")) == list(range(250))


def test_an_async_reader_reads_the_same(drain):
    @workflow(name="writes")
    async def writes():
        for number in range(3):
            await awrite_stream("log", number)

    run = writes.enqueue()
    drain()

    async def read():
        return [value async for value in aread_stream(run.id, "log")]

    assert async_to_sync(read)() == [0, 1, 2]


def test_a_closed_stream_takes_nothing_more_and_closing_twice_is_no_error(drain):
    @workflow(name="closes")
    def closes():
        close_stream("log")
        close_stream("log")
        try:
            write_stream("log", 1)
        except StreamClosed as closed:
            return str(closed)

    run = closes.enqueue()
    drain()
    assert "log" in run.result()
    assert StreamEntry.objects.count() == 1


def test_a_step_writes_with_its_own_number_each_time_it_runs(drain):
    @step(max_attempts=2, interval=0)
    def works():
        write_stream("log", "trying")
        if StreamEntry.objects.count() < 2:
            raise ValueError

    @workflow(name="works")
    def body():
        works()

    run = body.enqueue()
    drain()
    assert list(StreamEntry.objects.values_list("position", "step")) == [(0, 1), (1, 1)]
    assert run.status == Status.SUCCESS


def test_streams_are_read_outside_of_bodies_and_written_inside(drain):
    with pytest.raises(OutsideWorkflow):
        write_stream("log", 1)
    with pytest.raises(WorkflowNotFound):
        list(read_stream("nobody", "log"))

    @workflow(name="reads")
    def reads():
        return list(read_stream("anybody", "log"))

    run = reads.enqueue()
    drain()
    with pytest.raises(InsideWorkflow):
        run.result()
