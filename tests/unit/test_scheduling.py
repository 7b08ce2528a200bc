"""Slots leave the processor to who wakes them, where the operating system knows how."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from django_durable.worker.slots.scheduling import wake_without_haste

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux alone has the class")


def test_a_slot_is_woken_without_haste_and_the_other_threads_as_usual():
    def slot() -> int:
        wake_without_haste()
        return os.sched_getscheduler(0)

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(slot).result() == os.SCHED_BATCH
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_a_class_that_somebody_chose_for_the_worker_stays():
    def slot() -> int:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        wake_without_haste()
        return os.sched_getscheduler(0)

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(slot).result() == os.SCHED_IDLE
