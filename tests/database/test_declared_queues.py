"""The default queue and the queues of the settings, written after each migrate."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_durable.checks import check_settings
from django_durable.engine.queues import keep_queues
from django_durable.models import Queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def declare(settings):
    def declare(**queues):
        settings.DURABLE = {"QUEUES": queues}
        keep_queues(using="default")

    return declare


def test_a_migrated_database_has_the_default_queue_without_limits():
    queue = Queue.objects.get()
    assert (queue.name, queue.has_fleet_budget, queue.code_owned) == ("default", False, False)


def test_a_declared_queue_gets_its_limits_and_belongs_to_the_code(declare):
    declare(mail={"concurrency": 5, "rate_limit": 10, "rate_period": 60, "fair": True})
    queue = Queue.objects.get(name="mail")
    assert (queue.concurrency, queue.rate_limit, queue.rate_period) == (5, 10, timedelta(minutes=1))
    assert queue.fair
    assert queue.code_owned


def test_a_limit_that_the_code_dropped_is_dropped_from_the_row_but_a_pause_stays(declare):
    declare(mail={"concurrency": 5, "worker_concurrency": 2})
    Queue.objects.filter(name="mail").pause()
    declare(mail={"worker_concurrency": 3})
    queue = Queue.objects.get(name="mail")
    assert (queue.concurrency, queue.worker_concurrency) == (None, 3)
    assert queue.paused_at is not None


def test_a_queue_that_is_declared_no_more_stays_and_can_be_edited_again(declare):
    declare(mail={"concurrency": 5})
    declare()
    queue = Queue.objects.get(name="mail")
    assert (queue.concurrency, queue.code_owned) == (5, False)


def test_the_default_queue_can_be_declared_too(declare):
    declare(default={"concurrency": 2})
    assert Queue.objects.get().concurrency == 2


def test_what_was_edited_in_the_default_queue_stays(declare):
    Queue.objects.update(concurrency=7)
    declare()
    assert Queue.objects.get().concurrency == 7


@pytest.mark.parametrize(
    ("queues", "told"),
    [
        ({"mail": {"concurency": 5}}, "did you mean 'concurrency'?"),
        ({"mail": {"limit_of_everything": 5}}, "known limits: concurrency"),
        (
            {"mail": {"concurrency": True}},
            "['concurrency'] must be a whole number from 1 to 2147483647; it is True",
        ),
        (
            {"mail": {"concurrency": 2.5}},
            "['concurrency'] must be a whole number from 1 to 2147483647; it is 2.5",
        ),
        (
            {"mail": {"concurrency": 0}},
            "['concurrency'] must be a whole number from 1 to 2147483647; it is 0",
        ),
        ({"mail": {"rate_limit": 5}}, "A rate needs both a limit and a period"),
        ({"mail": {"concurrency": 2, "worker_concurrency": 3}}, "cannot be above the concurrency (2)"),
        ({"mail": {"fair": 1}}, "['fair'] must be True or False; it is 1"),
        ({"mail": {"fair": None}}, "['fair'] must be True or False; it is None"),
        ({"mail": {"rate_limit": 5, "rate_period": 1e20}}, "['rate_period'] must be a finite length of time"),
        (
            {"mail": {"rate_limit": 5, "rate_period": 10**20}},
            "['rate_period'] must be a finite length of time",
        ),
        ({"mail": {"rate_limit": 5, "rate_period": -1}}, "['rate_period'] must lie between 0 and 36525 days"),
        (
            {"mail": {"partition_rate_limit": 5, "partition_rate_period": 10**400}},
            "['partition_rate_period'] must",
        ),
        (
            {"mail": {"polling_interval": 10**400}},
            "['polling_interval'] must be a number of seconds from 0.01",
        ),
        (
            {"mail": {"polling_interval": 10**5000}},
            "['polling_interval'] must be a number of seconds from 0.01",
        ),
        (
            {"mail": {"concurrency": 1, "worker_concurrency": 10**5000}},
            "['worker_concurrency'] must be a whole",
        ),
        ({"mail": 10**5000}, "must be a dict of limits; it is of type int"),
        ({"mail": {10**5000: 1}}, "has no limit of type int"),
        ({"mail": 5}, "must be a dict of limits; it is 5"),
        ({" ": {}}, "queue name"),
        ({7: {}}, "queue name"),
    ],
)
def test_a_wrong_declaration_is_refused_with_its_place_and_leaves_the_table_alone(settings, queues, told):
    settings.DURABLE = {"QUEUES": queues}
    with pytest.raises(ImproperlyConfigured) as refused:
        keep_queues(using="default")
    assert told in str(refused.value)
    assert f"DURABLE['QUEUES'][{next(iter(queues))!r}]" in str(refused.value)
    assert [(fault.id, fault.msg) for fault in check_settings()] == [("durable.E003", str(refused.value))]
    assert Queue.objects.count() == 1
