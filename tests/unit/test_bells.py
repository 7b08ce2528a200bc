"""Waiting for a checkpoint in flight, whichever way threads are woken."""

from __future__ import annotations

import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from django_durable.engine.execution.writes import Checkpoint
from django_durable.exceptions import Superseded
from django_durable.worker.polling.bell import Bell
from django_durable.worker.writing import bells
from django_durable.worker.writing.bells import FileBell, bell_of_this_thread
from django_durable.worker.writing.writes import InFlight

PATIENCE = 10


@pytest.fixture(params=[[0], [0, 1]], ids=["one core", "two cores"])
def cores(request, monkeypatch):
    monkeypatch.setattr(bells, "cores", lambda: request.param)
    return request.param


@pytest.fixture
def threads(cores):
    with ThreadPoolExecutor(8) as pool:
        yield pool


def in_flight() -> InFlight:
    checkpoint = Checkpoint("w", uuid4(), 1, "step", "1", None, "json")
    return InFlight(checkpoint, os.getpid())


def asleep(receipt: InFlight, count: int) -> None:
    while len(receipt._asleep) < count:
        pass


def test_the_way_follows_the_cores_that_a_thread_may_run_on(threads, cores):
    kind = FileBell if len(cores) == 1 else Bell
    assert isinstance(threads.submit(bell_of_this_thread).result(PATIENCE), kind)


def test_a_thread_sleeps_until_the_answer(threads):
    receipt = in_flight()
    waits = threads.submit(receipt.wait)
    asleep(receipt, 1)
    assert not waits.done()
    receipt.answer(True)
    waits.result(PATIENCE)


def test_an_answer_that_came_before_is_not_waited_for(threads):
    receipt = in_flight()
    receipt.answer(True)
    threads.submit(receipt.wait).result(PATIENCE)


def test_all_who_wait_for_one_receipt_are_woken(threads):
    receipt = in_flight()
    waits = [threads.submit(receipt.wait) for _ in range(8)]
    asleep(receipt, 8)
    receipt.answer(False)
    for each in waits:
        with pytest.raises(Superseded):
            each.result(PATIENCE)


def test_a_ring_that_came_too_late_ends_no_later_wait(threads):
    def both() -> None:
        bell_of_this_thread().ring()  # as where the answer came between the look and the sleep
        second.wait()

    second = in_flight()
    waits = threads.submit(both)
    asleep(second, 1)
    with pytest.raises(TimeoutError):
        waits.result(0.05)
    second.refuse(ValueError("too long"))
    with pytest.raises(ValueError, match="too long"):
        waits.result(PATIENCE)


def test_a_bell_ends_with_its_thread(threads, cores):
    bell = threads.submit(lambda: weakref.ref(bell_of_this_thread())).result(PATIENCE)
    assert bell() is not None
    threads.shutdown()
    assert bell() is None


def test_a_bell_that_is_gone_leaves_no_open_file():
    bell = FileBell()
    file = bell._file
    del bell
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)
