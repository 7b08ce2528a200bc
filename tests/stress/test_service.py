"""Starting, stopping and waking in any order, from many threads at once, of every part of a worker."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest
from django.db import connection

from django_durable.conf import settings
from django_durable.models import Executor
from django_durable.worker.polling.bell import Bell
from django_durable.worker.process.options import WorkerOptions
from django_durable.worker.process.tree import Tree
from django_durable.worker.service import Duty, Service

pytestmark = pytest.mark.django_db(transaction=True)
LONGEST = 30
THREADS = 10
TURNS = 50
PARTS = ("heartbeat", "recorder", "poller", "maintenance", "listener")


class Counted(Duty):
    """Tells how often it was done, and that it is never done twice at once."""

    name = "counted"

    def __init__(self, rest: float = 0.001) -> None:
        self.rest = rest
        self.ticks = 0
        self.finishes = 0
        self.is_shared = False
        self._alone = threading.Lock()

    def tick(self) -> float:
        if not self._alone.acquire(blocking=False):
            self.is_shared = True
        time.sleep(0)
        self.ticks += 1
        self._alone.release()
        return self.rest

    def finish(self) -> None:
        self.finishes += 1


def storm(service: Service, seed: int) -> None:
    """Many threads that start, wake and stop as they like; then all is still."""

    def rage(number: int) -> None:
        chance = random.Random(seed * THREADS + number)
        for _ in range(TURNS):
            chance.choice((service.start, service.stop, service.wake, service.ask_to_stop))()

    threads = [threading.Thread(target=rage, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
        assert not thread.is_alive()
    assert service.stop(LONGEST)
    assert not service.is_alive


@pytest.mark.parametrize("seed", range(3))
def test_a_storm_of_starts_and_stops_leaves_one_thread_or_none(seed):
    duty = Counted()
    before = threading.active_count()
    storm(Service("storm", duty, using="default"), seed)
    assert not duty.is_shared
    assert threading.active_count() == before


@pytest.fixture
def tree() -> Iterator[Tree]:
    tree = Tree(WorkerOptions(using="default", slots=2), settings(), Bell())
    yield tree
    tree.stop_claiming()
    tree.finish(time.monotonic() + LONGEST)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_a_worker_survives_the_storm_and_works_after_it(tree, part):
    service = tree.services[part]
    storm(service, seed=1)
    service.start()
    rounds = service.rounds
    until = time.monotonic() + LONGEST
    while service.rounds <= rounds:
        service.wake()
        assert time.monotonic() < until
        time.sleep(0.01)
    assert service.stop(LONGEST)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchone() == (0,)
    assert not Executor.objects.exists()
