"""Queues, limits and executors in the admin."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission, User
from django.contrib.staticfiles import finders
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from django_durable.admin.moments import NOTHING
from django_durable.core.planning.budget import limit_bucket
from django_durable.core.states import Status
from django_durable.models import Limit, Queue, RateStart
from django_durable.models.database import Clock
from tests.factories import ExecutorFactory, LimitFactory, QueueFactory, WorkflowFactory
from tests.sent import texts

pytestmark = pytest.mark.django_db

QUEUES = "/admin/durable/queue/"
LIMITS = "/admin/durable/limit/"
EMPTY = dict.fromkeys(
    [
        "concurrency",
        "worker_concurrency",
        "rate_limit",
        "rate_period",
        "partition_concurrency",
        "partition_worker_concurrency",
        "partition_rate_limit",
        "partition_rate_period",
        "polling_interval",
    ],
    "",
)


def page(queue):
    return reverse("admin:durable_queue_change", args=[quote(queue.pk)])


def save(client, queue, **fields):
    """Send the form; the errors it came back with."""
    response = client.post(page(queue), {**EMPTY, "waiting_holds_slot": "on", **fields})
    return {} if response.status_code == 302 else response.context["adminform"].errors


def act(client, action, *queues):
    form = {"action": action, "_selected_action": [queue.pk for queue in queues]}
    response = client.post(QUEUES, form, follow=True)
    return [str(message) for message in response.context["messages"]]


class TestLimitsOfAQueue:
    def test_what_is_entered_is_stored(self, admin_client):
        queue = QueueFactory.create()
        assert (
            save(admin_client, queue, concurrency=5, rate_limit=10, rate_period="00:01:00", fair="on") == {}
        )
        queue.refresh_from_db()
        assert (queue.concurrency, queue.rate_limit, queue.rate_period) == (5, 10, timedelta(minutes=1))
        assert queue.fair

    @pytest.mark.parametrize(
        ("fields", "at", "told"),
        [
            ({"concurrency": 0}, "concurrency", "greater than or equal to 1"),
            ({"concurrency": -1}, "concurrency", "greater than or equal to 1"),
            ({"concurrency": "many"}, "concurrency", "Enter a whole number"),
            ({"concurrency": 10**10}, "concurrency", "less than or equal to 2147483647"),
            (
                {"concurrency": 2, "worker_concurrency": 3},
                "worker_concurrency",
                "cannot be above the concurrency (2)",
            ),
            ({"rate_limit": 5}, "rate_period", "A rate needs both a limit and a period"),
            ({"rate_period": "60"}, "rate_limit", "A rate needs both a limit and a period"),
            ({"rate_limit": 5, "rate_period": "0"}, "rate_period", "longer than nothing"),
            ({"rate_limit": 5, "rate_period": "-60"}, "rate_period", "longer than nothing"),
            ({"rate_limit": 5, "rate_period": "999999999 00:00:00"}, "rate_period", "at most"),
            ({"rate_limit": 5, "rate_period": "soon"}, "rate_period", "write 30s, 1m, 1h30m or 1d."),
            (
                {"rate_limit": 1, "rate_period": "1s"}
                | {"partition_rate_limit": 100, "partition_rate_period": "1m"},
                "partition_rate_limit",
                "(100 in 1 min) cannot be above the rate of its queue (1 in 1 s)",
            ),
            ({"polling_interval": "1e9"}, "polling_interval", "less than or equal to 86400"),
            ({"polling_interval": "nan"}, "polling_interval", "Enter a number"),
            ({"polling_interval": "0"}, "polling_interval", "greater than or equal to 0.01"),
        ],
    )
    def test_what_makes_no_sense_is_refused_in_words_at_its_field(self, admin_client, fields, at, told):
        queue = QueueFactory.create()
        before = Queue.objects.filter(pk=queue.pk).values().get()
        errors = save(admin_client, queue, **fields)
        assert told in " ".join(errors[at])
        assert Queue.objects.filter(pk=queue.pk).values().get() == before

    @pytest.mark.parametrize("name", ["", " ", "\x00", "\u200b", "x" * 256, "a\nb"])
    def test_a_name_that_cannot_be_is_refused(self, admin_client, name):
        response = admin_client.post(f"{QUEUES}add/", {**EMPTY, "name": name})
        assert response.status_code == 200
        assert "name" in response.context["adminform"].errors
        assert Queue.objects.count() == 1

    @pytest.mark.parametrize(
        "name", ["x'; DROP TABLE t;--", "a/b?c=d#e", "%s", '"', "naïve \U0001f600", "_5F"]
    )
    def test_a_name_of_any_look_can_be_made_and_found_again(self, admin_client, name):
        assert admin_client.post(f"{QUEUES}add/", {**EMPTY, "name": name}).status_code == 302
        assert save(admin_client, Queue.objects.get(name=name), concurrency=3) == {}
        assert Queue.objects.get(name=name).concurrency == 3

    @pytest.mark.parametrize("period", ["90", "1m30s", "1 min 30 s", "00:01:30"])
    def test_a_length_of_time_is_taken_as_people_write_it_and_shown_so(self, admin_client, period):
        queue = QueueFactory.create()
        assert save(admin_client, queue, rate_limit=10, rate_period=period) == {}
        assert 'value="1 min 30 s"' in admin_client.get(page(queue)).content.decode()
        assert save(admin_client, queue, rate_limit=10, rate_period="1 min 30 s") == {}
        queue.refresh_from_db()
        assert queue.rate_period == timedelta(seconds=90)

    def test_a_name_cannot_be_changed(self, admin_client):
        queue = QueueFactory.create()
        save(admin_client, queue, name="other", concurrency=3)
        assert set(Queue.objects.values_list("name", flat=True)) == {"default", queue.name}

    def test_a_pause_that_comes_between_reading_and_saving_stays(self, admin_client, monkeypatch):
        queue = QueueFactory.create()
        cleaned = Queue.clean

        def clean(self):
            Queue.objects.filter(pk=self.pk).pause()
            cleaned(self)

        monkeypatch.setattr(Queue, "clean", clean)
        assert save(admin_client, queue, concurrency=3) == {}
        queue.refresh_from_db()
        assert queue.paused_at is not None

    def test_a_declared_queue_shows_its_limits_and_where_to_set_them(self, admin_client):
        queue = QueueFactory.create(code_owned=True, concurrency=4)
        assert admin_client.post(page(queue), {**EMPTY, "concurrency": 9}).status_code == 403
        queue.refresh_from_db()
        assert queue.concurrency == 4
        html = admin_client.get(page(queue)).content.decode()
        assert "declared in DURABLE[" in html
        assert 'name="_save"' not in html

    def test_the_list_says_the_limits_in_words(self, admin_client):
        QueueFactory(concurrency=5, worker_concurrency=2, rate_limit=10, rate_period=timedelta(minutes=1))
        assert "5 at once, 2 a worker, 10 in 1 min" in admin_client.get(QUEUES).content.decode()


class TestPausing:
    def test_it_pauses_and_lets_go_on_and_logs_each(self, admin_client):
        queue, other = QueueFactory.create(), QueueFactory.create()
        assert act(admin_client, "pause", queue, other) == ["2 queues paused."]
        assert act(admin_client, "pause", queue) == ["0 queues paused."]
        assert "Paused</span>" in admin_client.get(QUEUES).content.decode()
        assert act(admin_client, "unpause", queue) == ["1 queue let go on."]
        assert list(Queue.objects.filter(paused_at__isnull=False)) == [other]
        assert LogEntry.objects.count() == 3

    def test_it_needs_its_permission(self, client):
        user = User.objects.create_user("staff", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=["view_queue", "change_queue"]))
        client.force_login(user)
        queue = QueueFactory.create()
        client.post(QUEUES, {"action": "pause", "_selected_action": [queue.pk]}, follow=True)
        queue.refresh_from_db()
        assert queue.paused_at is None


class TestDeletingAQueue:
    def delete(self, client, queue):
        client.post(QUEUES, {"action": "delete_selected", "_selected_action": [queue.pk], "post": "yes"})
        client.post(reverse("admin:durable_queue_delete", args=[quote(queue.pk)]), {"post": "yes"})
        return not Queue.objects.filter(pk=queue.pk).exists()

    def test_an_unused_one_goes(self, admin_client):
        queue = QueueFactory.create()
        WorkflowFactory(status=Status.SUCCESS, queue=queue.name)
        assert self.delete(admin_client, queue)

    @pytest.mark.parametrize("status", [Status.DELAYED, Status.ENQUEUED, Status.PENDING, Status.WAITING])
    def test_one_with_workflows_that_have_not_ended_stays(self, admin_client, status):
        queue = QueueFactory.create()
        WorkflowFactory(status=status, queue=queue.name)
        assert not self.delete(admin_client, queue)

    def test_the_default_one_and_a_declared_one_stay(self, admin_client):
        assert not self.delete(admin_client, Queue.objects.get(name="default"))
        assert not self.delete(admin_client, QueueFactory.create(code_owned=True))


class TestLimits:
    def test_one_is_made_edited_and_deleted(self, admin_client):
        assert admin_client.post(f"{LIMITS}add/", {"key": "stripe", "max_running": 5}).status_code == 302
        url = reverse("admin:durable_limit_change", args=["stripe"])
        form = {"key": "other", "max_running": "", "max_starts": 3, "window": "60"}
        assert admin_client.post(url, form).status_code == 302
        limit = Limit.objects.get()
        assert (limit.key, limit.max_running, limit.max_starts) == ("stripe", None, 3)
        assert "0 of 3 in 1 min" in admin_client.get(LIMITS).content.decode()
        admin_client.post(reverse("admin:durable_limit_delete", args=["stripe"]), {"post": "yes"})
        assert not Limit.objects.exists()

    def test_the_list_says_what_is_in_use(self, admin_client):
        LimitFactory(key="full", max_running=2)
        LimitFactory(key="rate", max_running=None, max_starts=3, window=timedelta(minutes=1))
        for key in ("full", "full", "rate"):
            WorkflowFactory(status=Status.PENDING, limit_key=key)
        WorkflowFactory(status=Status.SUCCESS, limit_key="rate")
        for age in (1, 30, 90):
            RateStart.objects.create(bucket=limit_bucket("rate"), started_at=Clock() - timedelta(seconds=age))
        html = admin_client.get(LIMITS).content.decode()
        assert '<td class="field-running"><span class="durable-chip durable-busy">2 of 2</span></td>' in html
        assert '<td class="field-running">1</td><td class="field-starts">2 of 3 in 1 min</td>' in html

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"max_running": 0},
            {"max_starts": 5},
            {"window": "60"},
            {"max_starts": 5, "window": "-1"},
            {"max_starts": 5, "window": "999999999 00:00:00"},
        ],
        ids=str,
    )
    def test_one_that_makes_no_sense_is_refused_in_words(self, admin_client, fields):
        form = {"key": "stripe", "max_running": "", "max_starts": "", "window": "", **fields}
        response = admin_client.post(f"{LIMITS}add/", form)
        assert response.status_code == 200
        assert response.context["adminform"].form.errors
        assert not Limit.objects.exists()


def test_executors_are_alive_or_lost_by_the_databases_clock_and_cannot_be_edited(admin_client):
    alive, lost = ExecutorFactory.create(hostname="alive"), ExecutorFactory.create(hostname="lost", lost=True)
    html = admin_client.get("/admin/durable/executor/").content.decode()
    assert html.count(">Alive</span>") == html.count(">Lost</span>") == 1
    for executor in (alive, lost):
        url = reverse("admin:durable_executor_change", args=[executor.pk])
        assert admin_client.get(url).status_code == 200
        assert admin_client.post(url, {"pid": 1}).status_code == 403


@pytest.mark.parametrize("url", [QUEUES, LIMITS, f"{QUEUES}add/", "/admin/durable/workflowstatus/"])
def test_a_page_takes_its_style_from_a_file_and_has_no_script_of_its_own(admin_client, url):
    LimitFactory()
    html = admin_client.get(url).content.decode()
    assert "django_durable/admin.css" in html
    assert finders.find("django_durable/admin.css")
    assert "style=" not in html
    assert "onclick=" not in html


def test_every_page_of_the_app_opens(admin_client):
    html = admin_client.get("/admin/durable/").content.decode()
    for name in ("Workflows", "Queues", "Limits", "Executors"):
        assert name in html


class TestWhatBlocksTheHead:
    def shown(self, client, queue):
        """What its page says would start next, and what holds others back."""
        model_admin = client.get(page(queue)).context["adminform"].model_admin
        queue.refresh_from_db()
        return model_admin.starts_next(queue), model_admin.held_back_by(queue)

    def test_an_empty_line_is_held_back_by_nothing(self, admin_client):
        assert self.shown(admin_client, QueueFactory.create(concurrency=1)) == (NOTHING, NOTHING)

    def test_a_head_that_can_start_is_named(self, admin_client):
        queue = QueueFactory.create()
        head, _ = (WorkflowFactory.create(status=Status.ENQUEUED, queue=queue.name) for _ in range(2))
        assert self.shown(admin_client, queue) == (head.id, NOTHING)
        assert f"{head.id}</div>" in admin_client.get(page(queue)).content.decode()

    def test_a_page_looks_at_the_line_once(self, admin_client):
        queue = QueueFactory.create(concurrency=5)
        WorkflowFactory.create(status=Status.ENQUEUED, queue=queue.name)
        with CaptureQueriesContext(connection) as sent:
            admin_client.get(page(queue))
        assert len([text for text in texts(sent) if "AS asked (name)" in text]) == 1

    def test_a_full_queue_is_told(self, admin_client):
        queue = QueueFactory.create(concurrency=1)
        WorkflowFactory(queue=queue.name, status=Status.PENDING)
        WorkflowFactory(status=Status.ENQUEUED, queue=queue.name)
        assert self.shown(admin_client, queue) == (NOTHING, "the limits of the queue")

    def test_a_full_key_and_a_full_partition_are_told_and_who_goes_past_them(self, admin_client):
        queue = QueueFactory.create(partition_concurrency=1)
        LimitFactory(key="k", max_running=1)
        for taken in ({"limit_key": "k", "partition_key": "other"}, {"partition_key": "p"}):
            WorkflowFactory(queue=queue.name, status=Status.PENDING, **taken)
        WorkflowFactory(status=Status.ENQUEUED, queue=queue.name, limit_key="k")
        WorkflowFactory(status=Status.ENQUEUED, queue=queue.name, partition_key="p")
        free = WorkflowFactory.create(status=Status.ENQUEUED, queue=queue.name, partition_key="free")
        assert self.shown(admin_client, queue) == (free.id, "partition 'p', limit key 'k'")

    def test_a_paused_queue_is_told(self, admin_client):
        queue = QueueFactory.create()
        WorkflowFactory(status=Status.ENQUEUED, queue=queue.name)
        Queue.objects.filter(pk=queue.pk).pause()
        assert self.shown(admin_client, queue) == (NOTHING, "the pause")

    def test_a_look_locks_nothing(self, admin_client):
        queue = QueueFactory.create(concurrency=5)
        LimitFactory(key="k", max_running=1)
        WorkflowFactory(status=Status.ENQUEUED, queue=queue.name, limit_key="k")
        with CaptureQueriesContext(connection) as asked:
            admin_client.get(page(queue))
        sent = [text.upper() for text in texts(asked.captured_queries)]
        assert sent
        assert not [text for text in sent if "FOR NO KEY" in text or text.startswith(("UPDATE", "INSERT"))]


class TestRunsLeftWithoutAWorker:
    def told(self, admin_client, queue):
        response = admin_client.get(page(queue))
        return response.context["adminform"].model_admin.left_without_a_worker(queue)

    def waiting(self, queue, version):
        waiting = {"status": Status.WAITING, "queue": queue.name, "claim_seq": 1, "app_version": version}
        WorkflowFactory.create(**waiting)

    def test_of_the_versions_that_no_living_worker_has_are_told(self, admin_client):
        queue = QueueFactory.create(concurrency=2)
        for version in ("1", "1", "2", "3", None):
            self.waiting(queue, version)
        ExecutorFactory.create(app_version="2")
        ExecutorFactory.create(app_version="3", queues=["another"])
        ExecutorFactory.create(app_version="1", lost=True)
        assert self.told(admin_client, queue) == "2 waiting of version 1, 1 waiting of version 3"

    def test_there_are_none_where_a_worker_takes_any_version(self, admin_client):
        queue = QueueFactory.create()
        self.waiting(queue, "1")
        ExecutorFactory.create(app_version=None, queues=[queue.name])
        assert self.told(admin_client, queue) == NOTHING
