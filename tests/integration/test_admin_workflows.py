"""The pages of runs: what they show, to whom, and what they let people do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.urls import reverse
from django.utils import timezone

from django_durable.admin import listing, steps
from django_durable.core.payloads.failures import describe
from django_durable.core.states import LABELS, PARKED, Status, allows
from django_durable.models import StepOutput, WorkflowStatus
from django_durable.models.database import Clock
from tests.factories import ExecutorFactory, QueueFactory, StepFactory, WorkflowFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db

LIST = "/admin/durable/workflowstatus/"


def page(run):
    return reverse("admin:durable_workflowstatus_change", args=[run.pk])


def run_in(status=Status.SUCCESS, **columns):
    return WorkflowFactory.create(status=status, **columns)


@pytest.fixture
def staff(client):
    """Log somebody in who may do exactly this."""

    def staff(*codenames):
        user = User.objects.create_user("staff", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        assert user.user_permissions.count() == len(codenames)
        client.force_login(user)
        return client

    return staff


def act(client, action, *runs, **more):
    form = {"action": action, "_selected_action": [run.pk for run in runs], **more}
    response = client.post(LIST, form, follow=True)
    assert response.status_code == 200
    return [str(message) for message in response.context["messages"]]


class TestTheList:
    def test_it_shows_each_status_in_its_word(self, admin_client):
        for status in Status:
            run_in(status)
        html = admin_client.get(LIST).content.decode()
        for label in LABELS.values():
            assert f">{label}</span>" in html

    def test_the_newest_come_first(self, admin_client):
        old = run_in(id="old")
        WorkflowStatus.objects.filter(pk=old.pk).update(created_at=old.created_at - timedelta(days=1))
        run_in(id="new")
        rows = admin_client.get(LIST).context["cl"].result_list
        assert [row.pk for row in rows] == ["new", "old"]

    def test_no_payload_is_read_for_it(self, admin_client, django_assert_max_num_queries):
        for _ in range(30):
            run_in(input='"x"', error=describe(ValueError("no")))
        with django_assert_max_num_queries(8):  # session, user, queues, count, page and what the frame asks
            response = admin_client.get(LIST)
        row = response.context["cl"].result_list[0]
        assert row.get_deferred_fields() >= {"input", "output", "error", "headers", "attributes"}

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("status=ERROR", ["b"]),
            ("queue=mail", ["c"]),
            ("queue=nowhere", []),
            ("queue=%00", []),
            ("name=gone", ["d"]),
            ("status=NONSENSE", []),
            ("q=a", ["a"]),
            ("q=b+c", ["b c"]),
            ("q=A", []),
            ("q=%25", []),
            ("q=%00", ["a", "b", "b c", "c", "d"]),
            ("status=ERROR&queue=mail", []),
        ],
    )
    def test_filters_and_search_find_exactly_what_they_name(self, admin_client, query, found):
        QueueFactory(name="mail")
        run_in(id="a")
        run_in(Status.ERROR, id="b")
        run_in(id="c", queue="mail")
        run_in(id="d", name="gone")
        run_in(id="b c")
        response = admin_client.get(f"{LIST}?{query}")
        assert response.status_code == 200
        assert sorted(row.pk for row in response.context["cl"].result_list) == found

    def test_its_filters_are_drawn_from_small_sets(self, admin_client, monkeypatch):
        monkeypatch.setattr(listing, "MOST_CHOICES", 2)
        for _ in range(5):
            QueueFactory()
        filters = {spec.title: spec for spec in admin_client.get(LIST).context["cl"].filter_specs}
        assert set(filters) == {"status", "queue", "workflow"}
        assert len(filters["queue"].lookup_choices) == 2
        assert len(filters["workflow"].lookup_choices) == 2

    @pytest.mark.parametrize(
        "lookup", ["input__contains=secret", "error__startswith=a", "output__regex=.", "id__gt=a"]
    )
    def test_no_lookup_of_the_address_tells_what_is_in_a_payload(self, admin_client, lookup):
        run_in(input='"secret"')
        assert admin_client.get(f"{LIST}?{lookup}").status_code == 400

    def test_it_counts_no_further_than_it_can_page(self, admin_client, monkeypatch):
        monkeypatch.setattr(listing, "MOST_ROWS", 3)
        for _ in range(3):
            run_in()
        assert "Only the first" not in admin_client.get(LIST).content.decode()
        run_in()
        response = admin_client.get(LIST)
        assert response.context["cl"].result_count == 3
        assert "Only the first 3 are listed" in response.content.decode()

    def test_a_run_without_code_here_says_so(self, admin_client):
        run_in(name="gone.app")
        run_in(name="testapp.echo")
        assert admin_client.get(LIST).content.decode().count("no code here") == 1

    def test_a_duration_is_never_negative(self, admin_client):
        run_in(started_at=Clock() + timedelta(hours=1), created_at=Clock() + timedelta(hours=1))
        assert ">0 ms<" in admin_client.get(LIST).content.decode()


class TestThePageOfARun:
    def test_it_shows_what_went_in_and_came_out_and_each_step(self, admin_client):
        run = run_in(input='{"args": ["ä"], "kwargs": {}}', output='"parcel"')
        StepFactory(workflow=run, step=1, name="pay", output='"receipt"')
        StepFactory(workflow=run, step=2, name="ship", output=None, error=describe(ValueError("no van")))
        html = admin_client.get(page(run)).content.decode()
        for text in ("ä", "parcel", "receipt", "pay", "ship", "ValueError", "no van"):
            assert text in html

    def test_its_instants_tell_thousandths_in_the_readers_zone(self, admin_client):
        run = run_in(started_at=datetime(2026, 7, 1, 22, 0, 5, 4_000, tzinfo=UTC))
        with timezone.override("Asia/Tokyo"):
            html = admin_client.get(page(run)).content.decode()
        assert ">July 2, 2026, 07:00:05.004<" in html

    def test_without_the_permission_no_payload_is_in_it(self, staff):
        run = run_in(input='"secret in"', output='"secret out"', error=describe(ValueError("secret error")))
        StepFactory(workflow=run, step=1, output='"secret step"')
        StepFactory(workflow=run, step=2, output=None, error=describe(ValueError("secret step error")))
        client = staff("view_workflowstatus")
        for url in (page(run), LIST):
            html = client.get(url).content.decode()
            assert "secret" not in html
        assert "may not see payloads" in client.get(page(run)).content.decode()

    def test_with_it_they_are(self, staff):
        run = run_in(output='"secret out"')
        assert "secret out" in staff("view_workflowstatus", "view_payload").get(page(run)).content.decode()

    def test_it_cannot_be_written_to(self, admin_client):
        run = run_in(Status.ERROR)
        before = WorkflowStatus.objects.values().get()
        response = admin_client.post(page(run), {"status": "SUCCESS", "name": "os.system", "input": "[]"})
        assert response.status_code == 403
        assert admin_client.get(f"{LIST}add/").status_code == 403
        assert admin_client.post(f"{LIST}add/", {"id": "x", "name": "os.system"}).status_code == 403
        assert (
            admin_client.post(reverse("admin:durable_workflowstatus_delete", args=[run.pk])).status_code
            == 403
        )
        assert WorkflowStatus.objects.values().get() == before

    @pytest.mark.parametrize("key", ["nobody", "_00", "_ED_A0_80", "%00", "x" * 5000])
    def test_a_run_that_is_not_there_is_told_kindly(self, admin_client, key):
        response = admin_client.get(f"{LIST}{key}/change/", follow=True)
        assert response.status_code == 200
        assert "exist" in str(next(iter(response.context["messages"])))

    def test_a_run_of_an_executor_and_a_parent_that_are_gone_is_shown(self, admin_client):
        run = run_in(Status.PENDING, parent_id="gone")
        html = admin_client.get(page(run)).content.decode()
        assert str(WorkflowStatus.objects.get().executor_id) in html
        assert ">gone<" in html

    def test_more_steps_than_a_page_bears_are_cut_and_told(self, admin_client, monkeypatch):
        monkeypatch.setattr(steps, "MOST", 3)
        monkeypatch.setattr("django_durable.admin.workflows.MOST", 3)
        run = run_in()
        for number in range(1, 6):
            StepFactory(workflow=run, step=number, name=f"step-{number}")
        html = admin_client.get(page(run)).content.decode()
        assert "step-3" in html
        assert "step-4" not in html
        assert "Only the first 3 steps are listed" in html


DAMAGED = [
    {"name": "gone.app"},
    {"queue": "nowhere"},
    {"input": "{damaged"},
    {"input": '{"args": [{"$": "dataclass", "v": "os:system"}]}'},
    {"output": '{"$": "nothing"}', "serialization": "msgpack"},
    {"input": "[" * 5000 + "]" * 5000},
    {"output": '"\\ud800\\u0000"'},
    {"output": "1" * 5000},
    {"error": "no JSON"},
    {"error": ""},
    {"error": '{"type": 1}'},
    {"error": describe(ValueError("x" * 10**6))},
    {"input": '"' + "x" * 10_000_000 + '"'},
    {"error": "y" * 20_000_000},
    {"attributes": {"a": 1}},
    {"app_version": "from the future", "attempt": 2**31 - 1},
    {"seq": 2**53 + 1},
]


@pytest.mark.parametrize("columns", DAMAGED, ids=lambda columns: repr(columns)[:40])
def test_a_row_of_any_content_is_shown_on_every_page_and_none_grows_large(admin_client, columns):
    run = run_in(Status.ERROR, **columns)
    StepFactory(workflow=run, step=1, output=columns.get("input", "1"))
    StepFactory(workflow=run, step=2, output=None, error=columns.get("error", "{}"))
    history = reverse("admin:durable_workflowstatus_history", args=[run.pk])
    for url in (LIST, f"{LIST}?status=ERROR", f"{LIST}?q={run.pk}", page(run), history):
        response = admin_client.get(url)
        assert response.status_code == 200
        assert len(response.content) < 1_000_000
    assert act(admin_client, "retry", run) == ["1 workflow put back in line."]


EVIL = """<img src=x onerror=alert(1)>"'</script><script>alert(1)</script>{{7*7}}"""


def test_no_text_of_a_run_is_markup_on_any_page(admin_client):
    kind = type(EVIL, (Exception,), {})
    QueueFactory(name=EVIL)
    parent = run_in(id="parent")
    for status in (Status.ERROR, Status.DELAYED, Status.PENDING):
        run = run_in(
            status,
            id=EVIL + status,
            name=EVIL,
            queue=EVIL,
            partition_key=EVIL,
            limit_key=EVIL,
            deduplication_id=EVIL + status,
            app_version=EVIL,
            forked_from=EVIL,
            schedule_name=EVIL,
            parent_id=parent.pk,
            attributes={EVIL: EVIL},
            input=f'["{EVIL!r}"]',
            output=EVIL,
            error=describe(kind(EVIL)),
        )
        StepFactory(workflow=run, step=1, name=EVIL, output=EVIL, child=EVIL)
        StepFactory(workflow=run, step=2, name=EVIL, output=None, error=describe(kind(EVIL)))
        urls = [page(run), reverse("admin:durable_workflowstatus_history", args=[run.pk])]
        for url in [*urls, LIST, f"{LIST}?queue={quote(EVIL)}"]:
            refuse_markup(admin_client.get(url))
    ExecutorFactory(hostname=EVIL, app_version=EVIL, queues=[EVIL])
    refuse_markup(admin_client.get("/admin/durable/executor/"))
    refuse_markup(admin_client.get("/admin/durable/queue/"))
    refuse_markup(admin_client.get(reverse("admin:durable_queue_change", args=[EVIL])))
    chosen = [EVIL + Status.PENDING, EVIL + Status.ERROR]
    refuse_markup(admin_client.post(LIST, {"action": "cancel", "_selected_action": chosen}, follow=True))
    refuse_markup(admin_client.get("/admin/"))


def refuse_markup(response):
    html = response.content.decode()
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/html")
    assert "<img src=x" not in html
    assert "<script>alert" not in html
    assert "{{7*7}}" in html or "alert(1)" not in html


class TestVerbs:
    @pytest.mark.parametrize("verb", ["cancel", "resume", "retry"])
    @pytest.mark.parametrize("status", Status)
    def test_each_changes_a_run_where_the_table_allows_it_and_says_so(self, admin_client, verb, status):
        run = run_in(status)
        told = act(admin_client, verb, run)
        now = WorkflowStatus.objects.get().status
        if allows(verb, status) and not (verb == "resume" and status == Status.ENQUEUED):
            assert now == (Status.CANCELLED if verb == "cancel" else Status.ENQUEUED)
            assert told[0].startswith("1 workflow ")
            assert LogEntry.objects.get().object_id == run.pk
        else:
            assert now == status
            assert told == [f"1 workflow was left as it is (1 {LABELS[status].lower()})."]
            assert not LogEntry.objects.exists()

    def test_those_that_cannot_be_changed_are_told_beside_those_that_were(self, admin_client):
        runs = [run_in(status) for status in (Status.ENQUEUED, Status.PENDING, Status.SUCCESS, Status.ERROR)]
        assert act(admin_client, "cancel", *runs) == [
            "2 workflows cancelled.",
            "2 workflows were left as they are (1 failed, 1 succeeded).",
        ]
        assert LogEntry.objects.count() == 2

    def test_all_rows_of_a_filter_can_be_chosen(self, admin_client):
        runs = [run_in(Status.CANCELLED) for _ in range(3)]
        run_in(PARKED)
        form = {"action": "resume", "_selected_action": [runs[0].pk], "select_across": "1"}
        admin_client.post(f"{LIST}?status=CANCELLED", form)
        assert WorkflowStatus.objects.filter(status=Status.ENQUEUED).count() == 3

    def test_the_reason_names_who_cancelled(self, admin_client):
        run = run_in(Status.ENQUEUED)
        act(admin_client, "cancel", run)
        assert "cancelled in the admin by admin" in WorkflowStatus.objects.get().error

    @pytest.mark.parametrize("verb", ["cancel", "resume", "retry"])
    def test_each_needs_its_own_permission(self, staff, verb):
        others = {"cancel_workflow", "resume_workflow", "retry_workflow"} - {f"{verb}_workflow"}
        run = run_in({"cancel": Status.ENQUEUED, "resume": Status.CANCELLED, "retry": Status.ERROR}[verb])
        client = staff("view_workflowstatus", "view_payload", *others)
        before = WorkflowStatus.objects.values().get()
        client.post(LIST, {"action": verb, "_selected_action": [run.pk]}, follow=True)
        assert WorkflowStatus.objects.values().get() == before
        user = User.objects.get(username="staff")
        user.user_permissions.add(Permission.objects.get(codename=f"{verb}_workflow"))
        act(client, verb, run)
        assert WorkflowStatus.objects.values().get() != before

    def test_there_is_no_way_to_delete_a_run_here(self, admin_client):
        run = run_in()
        admin_client.post(LIST, {"action": "delete_selected", "_selected_action": [run.pk], "post": "yes"})
        assert WorkflowStatus.objects.exists()

    def test_a_resumed_run_runs_again(self, admin_client):
        run = run_in(Status.ERROR, name=echo.name, input='{"args": [1], "kwargs": {}}')
        StepFactory(workflow=run, step=1, output=None, error="{}")
        act(admin_client, "retry", run)
        assert not StepOutput.objects.exists()


@pytest.mark.parametrize("permissions", [(), ("view_queue",)])
def test_who_may_not_see_runs_sees_none(staff, permissions):
    run = run_in()
    client = staff(*permissions)
    for url in (LIST, page(run)):
        assert client.get(url).status_code == 403


def test_nobody_is_asked_to_log_in(client):
    response = client.get(LIST)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/admin/login/")
