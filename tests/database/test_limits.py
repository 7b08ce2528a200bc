"""Limits as their users handle them: set, edited while runs are in flight, cleared, refused in words."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.db import IntegrityError, transaction

from django_durable.engine.queues import keep_queues
from django_durable.exceptions import InvalidIdentifier, InvalidLimit
from django_durable.models import Limit, Queue, WorkflowStatus
from tests.factories import QueueFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def in_line(count, **options):
    echo.using(**options).enqueue_many([((n,), {}) for n in range(count)])


class TestTheLimitOfAKey:
    def test_one_is_made_edited_and_taken_away(self):
        made = Limit.objects.set("stripe", max_running=3)
        assert (made.key, made.max_running, made.max_starts, made.window) == ("stripe", 3, None, None)
        Limit.objects.set("stripe", max_starts=100, per=MINUTE)
        both = Limit.objects.get()
        assert (both.max_running, both.max_starts, both.window) == (3, 100, MINUTE)
        Limit.objects.set("stripe", max_running=None, per=90)
        rate = Limit.objects.get()
        assert (rate.max_running, rate.max_starts, rate.window) == (None, 100, timedelta(seconds=90))
        assert Limit.objects.clear("stripe") is True
        assert Limit.objects.clear("stripe") is False
        assert not Limit.objects.exists()

    @pytest.mark.parametrize(
        ("limits", "words"),
        [
            ({}, "Give max running, or max starts with a window, or both."),
            ({"max_running": 0}, "max_running must be a whole number from 1 to 2147483647; it is 0"),
            ({"max_running": -1}, "it is -1"),
            ({"max_running": 2**31}, "it is 2147483648"),
            ({"max_running": 2.5}, "it is 2.5"),
            ({"max_running": True}, "it is True"),
            ({"max_running": "3"}, "it is '3'"),
            ({"max_starts": 5}, "A rate needs both: max starts, and the window"),
            ({"per": MINUTE}, "A rate needs both: max starts, and the window"),
            ({"max_starts": 5, "per": 0}, "The window must be longer than nothing."),
            ({"max_starts": 5, "per": -1}, "window must lie between 0 and 36525 days"),
            ({"max_starts": 5, "per": float("nan")}, "window must be a finite length of time"),
            ({"max_starts": 5, "per": "1m"}, "window must be a timedelta or a number of seconds"),
            ({"max_starts": 5, "window": 5, "per": 60}, "per and window say the same thing twice"),
            ({"max_starts": 5, "per": 10**400}, "window must be a finite length of time"),
            ({"max_runing": 5}, "nothing is called 'max_runing' here; did you mean 'max_running'?"),
            ({"key": "other"}, "there are max_running, max_starts, window"),
        ],
        ids=str,
    )
    def test_what_makes_no_sense_is_refused_in_words_and_changes_nothing(self, limits, words):
        for key, before in (("new", None), ("old", Limit.objects.set("old", max_running=3))):
            with pytest.raises(InvalidLimit) as refused:
                Limit.objects.set(key, **{"max_running": None, **limits})
            assert str(refused.value).startswith(f"limit {key!r}: ")
            assert words in str(refused.value)
            assert Limit.objects.filter(pk=key).first() == before
        assert Limit.objects.get().max_running == 3

    @pytest.mark.parametrize("key", ["", " ", "a\nb", "x" * 256, None, 5, "\x00"])
    def test_a_key_that_no_workflow_can_have_is_refused(self, key):
        with pytest.raises(InvalidIdentifier, match="limit key"):
            Limit.objects.set(key, max_running=1)
        with pytest.raises(InvalidIdentifier, match="limit key"):
            Limit.objects.clear(key)

    @pytest.mark.parametrize("key", ["é", "e\u0301", "None", "0", "A", "a", "%s", "x'; DROP TABLE t;--"])
    def test_keys_of_any_look_are_told_apart(self, key):
        Limit.objects.set(key, max_running=1)
        assert Limit.objects.clear(key + "x") is False
        assert Limit.objects.clear(key) is True

    @pytest.mark.parametrize(
        ("keys", "words"),
        [
            ("abc", "limit keys must be several texts; for the one key pass ['abc']"),
            (["a\x00"], "limit key holds a control character"),
            (["a", 5], "limit key must be a text"),
            (b"abc", "limit key must be a text"),
        ],
        ids=str,
    )
    def test_what_is_in_use_is_told_of_keys_that_there_can_be(self, keys, words):
        with pytest.raises(InvalidIdentifier) as refused:
            Limit.objects.in_use(keys)
        assert words in str(refused.value)

    def test_async_code_sets_reads_and_clears_one(self):
        async def edit():
            limit = await Limit.objects.aset("stripe", max_running=2)
            (in_use,) = await Limit.objects.ain_use(["stripe", "nothing"])
            return limit.max_running, in_use.max_running, await Limit.objects.aclear("stripe")

        assert async_to_sync(edit)() == (2, 2, True)
        assert not Limit.objects.exists()

    def test_an_edit_holds_from_the_next_claim_while_others_run(self, drain):
        Limit.objects.set("stripe", max_running=2)
        in_line(9, limit_key="stripe")
        running = drain.claim()
        assert len(running) == 2
        assert drain.claim() == []
        Limit.objects.set("stripe", max_running=5)
        assert len(drain.claim()) == 3
        Limit.objects.set("stripe", max_running=1)
        for run in running:
            drain.run(run)
        assert drain.claim() == []
        Limit.objects.clear("stripe")
        assert len(drain.claim()) == 4

    def test_a_rate_that_is_edited_counts_the_starts_before(self, drain):
        Limit.objects.set("stripe", max_starts=2, per=timedelta(hours=1))
        in_line(9, limit_key="stripe")
        assert len(drain()) == 2
        Limit.objects.set("stripe", max_starts=3)
        assert len(drain()) == 1

    def test_one_that_comes_while_others_run_counts_them(self, drain):
        in_line(3, limit_key="stripe")
        in_line(3, limit_key="stripe", queue="mail")
        QueueFactory(name="mail")
        assert len(drain.claim("default")) == 3
        Limit.objects.set("stripe", max_running=4)
        assert len(drain.claim("mail")) == 1


class TestTheLimitsOfAQueue:
    def test_one_is_made_edited_and_its_limits_taken_away(self):
        Queue.objects.set("mail", concurrency=5, fair=True)
        queue = Queue.objects.set("mail", rate_limit=10, rate_period=60, polling_interval=2)
        queue.refresh_from_db()
        assert (queue.concurrency, queue.rate_limit, queue.rate_period) == (5, 10, MINUTE)
        assert (queue.fair, queue.polling_interval) == (True, 2.0)
        assert Queue.objects.clear("mail") is True
        assert Queue.objects.clear("mail") is False
        assert Queue.objects.clear("nothing") is False
        queue.refresh_from_db()
        assert (queue.concurrency, queue.rate_limit, queue.rate_period, queue.fair) == (
            None,
            None,
            None,
            True,
        )

    @pytest.mark.parametrize(
        ("limits", "words"),
        [
            ({"concurrency": 0}, "concurrency must be a whole number from 1"),
            ({"worker_concurrency": 6}, "The worker concurrency (6) cannot be above the concurrency (5)."),
            (
                {"partition_concurrency": 6},
                "The partition concurrency (6) cannot be above the concurrency (5).",
            ),
            ({"rate_limit": 5}, "A rate needs both a limit and a period; give the rate period too."),
            ({"rate_limit": 5, "rate_period": 0}, "The rate period must be longer than nothing."),
            ({"rate_limit": 5, "rate_period": 10**400}, "rate_period must be a finite length of time"),
            ({"concurrency": 10**400}, "concurrency must be a whole number from 1"),
            ({"fair": 1}, "fair must be True or False; it is 1"),
            ({"fair": None}, "fair must be True or False; it is None"),
            ({"polling_interval": float("inf")}, "polling_interval must be a number of seconds"),
            ({"polling_interval": 0.001}, "polling_interval must be a number of seconds from 0.01 to 86400"),
            ({"polling_interval": 1e9}, "polling_interval must be a number of seconds from 0.01 to 86400"),
            ({"polling_interval": 10**400}, "polling_interval must be a number of seconds"),
            ({"polling_interval": float("nan")}, "polling_interval must be a number of seconds"),
            ({"paused_at": None}, "nothing is called 'paused_at' here"),
        ],
        ids=str,
    )
    def test_what_makes_no_sense_is_refused_in_words_and_changes_nothing(self, limits, words):
        Queue.objects.set("mail", concurrency=5)
        before = Queue.objects.filter(name="mail").values().get()
        with pytest.raises(InvalidLimit) as refused:
            Queue.objects.set("mail", **limits)
        assert str(refused.value).startswith("queue 'mail': ")
        assert words in str(refused.value)
        assert Queue.objects.filter(name="mail").values().get() == before

    def test_async_code_sets_and_clears_them(self):
        async def edit():
            queue = await Queue.objects.aset("mail", concurrency=5)
            return queue.concurrency, await Queue.objects.aclear("mail"), await Queue.objects.aclear("mail")

        assert async_to_sync(edit)() == (5, True, False)

    def test_async_code_is_refused_in_the_same_words(self):
        async def edit():
            await Queue.objects.aset("mail", concurency=5)

        with pytest.raises(InvalidLimit, match="did you mean 'concurrency'"):
            async_to_sync(edit)()

    def test_a_rate_of_its_partitions_is_compared_as_a_rate(self):
        Queue.objects.set("mail", rate_limit=1, rate_period=1)
        Queue.objects.set("mail", partition_rate_limit=60, partition_rate_period=MINUTE)
        with pytest.raises(InvalidLimit, match=r"\(100 in 1 min\) cannot be above .* \(1 in 1 s\)"):
            Queue.objects.set("mail", partition_rate_limit=100)

    def test_the_code_keeps_what_it_declared(self, settings):
        settings.DURABLE = {"QUEUES": {"mail": {"concurrency": 5}}}
        keep_queues(using="default")
        for change in (lambda: Queue.objects.set("mail", concurrency=6), lambda: Queue.objects.clear("mail")):
            with pytest.raises(InvalidLimit, match=r"declared in DURABLE\['QUEUES'\]"):
                change()
        assert Queue.objects.get(name="mail").concurrency == 5

    def test_a_rate_declared_above_that_of_its_queue_is_refused(self, settings):
        rates = {"rate_limit": 1, "rate_period": 1, "partition_rate_limit": 100, "partition_rate_period": 60}
        settings.DURABLE = {"QUEUES": {"mail": rates}}
        with pytest.raises(Exception, match=r"\(100 in 1 min\) cannot be above the rate of its queue"):
            keep_queues(using="default")

    def test_an_edit_holds_from_the_next_claim_while_others_run(self, drain):
        Queue.objects.set("default", concurrency=2)
        in_line(6)
        assert len(drain.claim()) == 2
        assert drain.claim() == []
        Queue.objects.set("default", concurrency=3, worker_concurrency=3)
        assert len(drain.claim()) == 1
        Queue.objects.clear("default")
        assert len(drain.claim()) == 3

    def test_an_edit_leaves_a_pause_and_what_is_in_line_alone(self):
        in_line(2)
        before = list(WorkflowStatus.objects.order_by("pk").values())
        Queue.objects.filter(name="default").pause()
        Queue.objects.set("default", concurrency=1)
        assert Queue.objects.get().paused_at is not None
        assert list(WorkflowStatus.objects.order_by("pk").values()) == before


class TestDoorsWithoutWords:
    """Bulk writes ask no form: what no claim could count the table keeps out."""

    @pytest.mark.parametrize(
        "limits",
        [
            {"max_running": 0},
            {"max_starts": 0, "window": MINUTE},
            {"max_starts": 1, "window": timedelta(0)},
            {"max_starts": 1, "window": timedelta(days=40_000)},
            {"max_starts": 1},
            {},
        ],
        ids=str,
    )
    def test_a_limit_that_cannot_be_counted(self, limits):
        with pytest.raises(IntegrityError, match="durable_limit"), transaction.atomic():
            Limit.objects.bulk_create([Limit(key="k", **limits)])
        Limit.objects.set("k", max_running=1)
        with pytest.raises(IntegrityError, match="durable_limit"):
            Limit.objects.update(**{"max_running": None, **limits})

    @pytest.mark.parametrize(
        "limits",
        [
            {"concurrency": 0},
            {"worker_concurrency": -1},
            {"partition_concurrency": 0},
            {"partition_worker_concurrency": 0},
            {"rate_limit": 0, "rate_period": MINUTE},
            {"rate_limit": 1},
            {"rate_period": MINUTE},
            {"partition_rate_limit": 1},
            {"partition_rate_limit": 1, "partition_rate_period": timedelta(seconds=-1)},
            {"polling_interval": 0.0},
            {"polling_interval": float("nan")},
        ],
        ids=str,
    )
    def test_a_queue_that_cannot_be_counted(self, limits):
        with pytest.raises(IntegrityError, match="durable_queue"), transaction.atomic():
            Queue.objects.bulk_create([Queue(name="mail", **limits)])
        with pytest.raises(IntegrityError, match="durable_queue"):
            Queue.objects.update(**limits)
