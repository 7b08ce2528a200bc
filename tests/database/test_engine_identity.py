"""Changing code, debounced calls, and what a run takes along from where it was enqueued."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, timedelta, tzinfo
from datetime import timezone as fixed
from uuid import uuid4

import pytest
from django.utils import timezone, translation

from django_durable import control, deprecate_patch, patch, recv, send, step, workflow
from django_durable.claim.claimer import Claimer
from django_durable.claim.identity import Identity
from django_durable.core.states import Status
from django_durable.engine.declared import workflows
from django_durable.exceptions import Deduplicated, InvalidOption
from django_durable.models import AppVersion, StepOutput, WorkflowStatus

pytestmark = pytest.mark.django_db


@step
def old():
    return "old"


@step
def new():
    return "new"


@step
def last():
    return "last"


def deploy(function):
    """Replace the body of `release` by another, as a deploy does."""
    for declaration in list(workflows):
        if declaration.name == "release":
            workflows.remove(declaration)
    return workflow(name="release")(function)


def before():
    recv("go")
    return [old(), recv("stop"), last()]


def patched():
    recv("go")
    return [new() if patch("better") else old(), recv("stop"), last()]


def deprecated():
    recv("go")
    deprecate_patch("better")
    return [new(), recv("stop"), last()]


def after():
    recv("go")
    return [new(), recv("stop"), last()]


def run_through(drain, *bodies):
    """One body until the first message, the next until the second, the last to its end."""
    run = deploy(bodies[0]).enqueue()
    drain()
    deploy(bodies[1])
    send(run.id, None, "go")
    drain()
    deploy(bodies[2])
    send(run.id, None, "stop")
    drain()
    return run


@pytest.mark.parametrize(
    ("bodies", "branch"),
    [
        ((before, before, patched), "old"),  # it was past the change
        ((before, patched, patched), "new"),  # it came to the change after the deploy
        ((patched, patched, deprecated), "new"),
        ((patched, deprecated, after), "new"),
        ((deprecated, deprecated, after), "new"),
    ],
)
def test_a_run_goes_on_through_a_change_of_its_code(drain, bodies, branch):
    assert run_through(drain, *bodies).result() == [branch, None, "last"]


def test_a_run_that_bears_the_mark_cannot_lose_it(drain):
    run = run_through(drain, patched, patched, after)
    assert run.status == Status.ERROR
    assert "durable.patch:better" in run.record.error


@pytest.fixture
def imports():
    @workflow(name="imports", queue="default")
    def imports(path):
        return path

    return imports


def test_debounced_calls_become_one_run_with_the_last_arguments(drain, imports):
    first = imports.debounce("key", 60).enqueue("a")
    begun = first.record.delay_until
    assert imports.debounce("key", 60).enqueue("b") == first
    assert first.record.delay_until > begun
    other = imports.debounce("other key", 60).enqueue("c")
    assert other != first
    drain.hasten()
    drain()
    assert [first.result(), other.result()] == ["b", "c"]


def test_a_debounced_run_is_put_off_no_longer_than_its_longest_wait(imports):
    run = imports.debounce("key", 60, max_wait=90).enqueue("a")
    latest = run.record.created_at + timedelta(seconds=91)
    for _ in range(5):
        imports.debounce("key", 80, max_wait=3600).enqueue("b")
        assert run.record.delay_until < latest


def test_a_period_that_is_over_frees_the_key_at_once(drain, imports):
    first = imports.debounce("key", 60).enqueue("a")
    drain.hasten()
    assert first.status == Status.ENQUEUED
    assert imports.debounce("key", 60).enqueue("b") != first


def test_an_ordinary_run_is_no_debounced_one_whatever_deduplication_id_it_holds(imports):
    ordinary = imports.using(deduplication_id="key", delay=60).enqueue("a")
    run = imports.debounce("key", 60).enqueue("b")
    assert run != ordinary
    held = run.record.deduplication_id
    run.cancel()
    imports.using(deduplication_id=held).enqueue("a")
    with pytest.raises(Deduplicated):
        imports.debounce("key", 60).enqueue("b")


def test_two_functions_debounce_one_key_in_one_queue_each_for_itself(drain, imports):
    @workflow(name="exports")
    def exports(what):
        return f"{what} out"

    runs = [each.debounce("user", 60).enqueue("a") for each in (imports, exports)]
    assert [each.debounce("user", 60).enqueue("b") for each in (imports, exports)] == runs
    drain.hasten()
    drain()
    assert [run.result() for run in runs] == ["b", "b out"]


def test_names_and_keys_that_run_together_are_told_apart(imports):
    @workflow(name='imports", "a')
    def other():
        """Does nothing."""

    first, second = imports.debounce('a", "b', 60).enqueue("x"), other.debounce("b", 60).enqueue()
    assert first.record.deduplication_id != second.record.deduplication_id


@pytest.mark.parametrize("letter", ["k", "🐍"])
def test_a_key_as_long_as_can_be_is_debounced(imports, letter):
    key = letter * (255 // len(letter.encode()))
    run = imports.debounce(key, 60).enqueue("a")
    assert imports.debounce(key, 60).enqueue("b") == run
    assert imports.debounce(key[1:], 60).enqueue("b") != run


def test_a_debounced_run_that_is_in_line_under_the_key_alone_is_still_put_off(imports):
    run = imports.debounce("key", 60).enqueue("a")
    WorkflowStatus.objects.filter(pk=run.id).update(deduplication_id="key")
    assert imports.debounce("key", 60).enqueue("b") == run


@pytest.mark.parametrize("options", [{"deduplication_id": "x"}, {"delay": 5}])
def test_a_debounced_run_takes_no_delay_or_deduplication_of_its_own(imports, options):
    with pytest.raises(InvalidOption):
        imports.using(**options).debounce("key", 60).enqueue("a")
    with pytest.raises(InvalidOption):
        imports.debounce("key", 0).enqueue("a")


def test_a_debounce_inside_a_body_is_one_recorded_step(drain, imports):
    @workflow(name="calls")
    def calls():
        run = imports.debounce("key", 60).enqueue("a")
        recv()
        return run.id

    run = calls.enqueue()
    drain()
    send(run.id, None)
    drain()
    assert WorkflowStatus.objects.filter(name="imports").count() == 1
    assert StepOutput.objects.get(workflow_id=run.id, step=1).child == run.result()


def test_language_and_time_zone_of_the_caller_are_those_of_the_body(drain):
    @workflow(name="asks")
    def asks():
        return translation.get_language(), timezone.get_current_timezone_name()

    with translation.override("de"), timezone.override("Pacific/Auckland"):
        away = asks.enqueue()
    plain = asks.enqueue()
    with translation.override("fr"), timezone.override("Asia/Tokyo"):
        drain()
        assert translation.get_language() == "fr"
    assert away.result() == ("de", "Pacific/Auckland")
    assert plain.result()[0] == "en-us"
    assert plain.record.headers == {}


class Anonymous(tzinfo):
    """A zone that nobody can find by its name."""

    def utcoffset(self, moment):
        return None if moment is None else timedelta(hours=1)

    dst = utcoffset

    def tzname(self, moment):
        return "../nowhere"


@pytest.mark.parametrize(
    "zone",
    [
        timezone.get_fixed_timezone(330),
        fixed(timedelta(hours=5, minutes=30), "IST"),
        fixed(timedelta(seconds=-1, microseconds=7)),
        UTC,
    ],
)
def test_a_zone_that_is_an_offset_comes_along_as_it_is(drain, zone):
    @workflow(name="asks")
    def asks():
        here = timezone.get_current_timezone()
        return here.utcoffset(None), here.tzname(None)

    with timezone.override(zone):
        run = asks.enqueue()
    drain()
    assert run.result() == (zone.utcoffset(None), zone.tzname(None))


@pytest.mark.parametrize(
    "name", ["Atlantis/Port", "+0530", "../etc", "Europe", 5, ["Asia/Tokyo"], {"offset": 1}]
)
def test_a_zone_that_is_not_known_here_is_told_and_the_default_one_taken(drain, caplog, name):
    @workflow(name="asks")
    def asks():
        return timezone.get_current_timezone_name()

    run = asks.enqueue()
    WorkflowStatus.objects.filter(pk=run.id).update(headers={"timezone": name})
    drain()
    assert run.result() == timezone.get_default_timezone_name()
    (told,) = [record for record in caplog.records if record.name == "django_durable.surroundings"]
    assert told.levelname == "WARNING"
    assert run.id in told.getMessage()


def test_a_zone_that_cannot_be_named_does_not_keep_a_run_from_being_enqueued(drain):
    @workflow(name="asks")
    def asks():
        return timezone.get_current_timezone_name()

    with timezone.override(Anonymous()):
        run = asks.enqueue()
    drain()
    assert run.result() == timezone.get_default_timezone_name()


@pytest.mark.parametrize("before", [None, "Asia/Tokyo"])
def test_what_a_body_or_step_activates_ends_with_it(drain, before):
    @step
    def acts():
        timezone.activate("Asia/Kolkata")
        translation.activate("de")

    @workflow(name="acts_so")
    def acts_so(directly):
        acts.declaration.function() if directly else acts()

    @workflow(name="acts_async")
    async def acts_async():
        await acts.acall()
        acts.declaration.function()

    @workflow(name="asks")
    def asks():
        return translation.get_language(), timezone.get_current_timezone_name()

    with timezone.override(before), translation.override("fr"):
        around = timezone.get_current_timezone_name()
        for run in (acts_so.enqueue(True), acts_so.enqueue(False), acts_async.enqueue()):
            drain()
            assert run.status == Status.SUCCESS
            assert (translation.get_language(), timezone.get_current_timezone_name()) == ("fr", around)
    run = asks.enqueue()
    drain()
    assert run.result() == ("en-us", timezone.get_default_timezone_name())


tenant: ContextVar[str | None] = ContextVar("tenant", default=None)


class TenantHook:
    def capture(self):
        return tenant.get()

    @contextmanager
    def restored(self, value):
        token = tenant.set(value)
        try:
            yield
        finally:
            tenant.reset(token)


def test_a_hook_of_the_project_takes_its_own_context_along(drain, settings):
    settings.DURABLE = {"CONTEXT": (f"{__name__}.TenantHook",)}

    @workflow(name="child")
    def child():
        return tenant.get()

    @workflow(name="asks")
    def asks():
        return tenant.get(), child()

    token = tenant.set("acme")
    run = asks.enqueue()
    tenant.reset(token)
    drain()
    assert run.result() == ("acme", "acme")
    assert asks.enqueue().record.headers == {}


def test_a_version_that_is_made_the_latest_gets_the_unversioned_runs(settings):
    now = timezone.now()
    for name, age in (("old", 2), ("new", 1)):
        promoted = now - timedelta(hours=age)
        AppVersion.objects.create(name=name, registered_at=promoted, promoted_at=promoted)
    settings.DURABLE = {"APP_VERSION": "old"}
    assert not Identity.of(uuid4(), "default").is_newest
    control.set_latest_version("old")
    assert Identity.of(uuid4(), "default").is_newest
    with pytest.raises(AppVersion.DoesNotExist):
        control.set_latest_version("never deployed")


def test_a_worker_takes_runs_of_its_own_version_only(drain, settings, imports):
    settings.DURABLE = {"APP_VERSION": "one"}
    run = imports.enqueue("a")
    settings.DURABLE = {"APP_VERSION": "two"}
    assert Claimer(uuid4(), "default").claim("default", 5).runs == []
    copy = run.fork(app_version="two")
    assert [claimed.id for claimed in Claimer(uuid4(), "default").claim("default", 5).runs] == [copy.id]
