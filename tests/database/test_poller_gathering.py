"""With many slots and a line that goes on, a few slots that free are claimed for together."""

from __future__ import annotations

import math

import pytest

from django_durable.worker.polling.poller import ENOUGH, GATHER
from tests.database.test_poller import Watch, ready

pytestmark = pytest.mark.django_db(transaction=True)
SLOTS = 2 * ENOUGH


@pytest.fixture
def full() -> Watch:
    """Every slot taken, and more in line."""
    ready(3 * SLOTS)
    watch = Watch(slots=SLOTS)
    assert watch.tick() == math.inf
    return watch


def free(watch: Watch, count: int) -> None:
    for run in watch.pool.owned[:count]:
        watch.pool.end(run)


def test_one_free_slot_waits_a_moment_for_another_and_asks_nothing(full, django_assert_num_queries):
    free(full, 1)
    with django_assert_num_queries(0):
        assert full.tick() == GATHER


def test_then_it_is_claimed_for_alone(full):
    free(full, 1)
    full.tick()
    assert full.tick() == math.inf
    assert len(full.taken) == SLOTS


def test_enough_of_them_cut_the_moment(full):
    free(full, 1)
    full.tick()
    full.wakes = 0
    full.pool.on_slot_free()
    assert full.wakes == 0
    free(full, 1)
    assert full.wakes == 1
    assert full.tick() == math.inf
    assert len(full.taken) == SLOTS


def test_where_the_line_has_ended_nothing_is_waited_for():
    watch = Watch(slots=SLOTS)
    ready(SLOTS - 1)
    assert watch.tick() != GATHER
    ready(1)
    watch.poller.notice()
    watch.tick()
    assert len(watch.taken) == SLOTS
