"""DURABLE['REDACT']: what people are shown passes the project's function; what is stored stays whole."""

from __future__ import annotations

import logging
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from django_durable import logs, step, workflow
from django_durable.admin import payloads
from django_durable.engine.declared import workflows
from django_durable.models import StepOutput, WorkflowStatus
from django_durable.testing import drain

pytestmark = pytest.mark.django_db
SECRET = "4929-7226-5379-7141"
asked: list[tuple[str, str, str | None]] = []


def hide(value, *, workflow, what, step):
    asked.append((workflow, what, step))
    if isinstance(value, dict):
        return {key: hide(item, workflow=workflow, what=what, step=step) for key, item in value.items()}
    if isinstance(value, list):
        return [hide(item, workflow=workflow, what=what, step=step) for item in value]
    return value.replace(SECRET, "a card") if isinstance(value, str) else value


def break_down(value, **_):
    raise KeyError(SECRET)


@pytest.fixture(autouse=True)
def _only_the_declarations_of_the_project():
    asked.clear()
    before = {id(declaration) for declaration in workflows}
    yield
    for declaration in [each for each in workflows if id(each) not in before]:
        workflows.remove(declaration)


@pytest.fixture(params=["hide", "break_down"])
def redacting(request, settings):
    settings.DURABLE = {"REDACT": f"{__name__}.{request.param}"}
    return request.param


def pays(card, fails=""):
    @step(name="charge")
    def charge():
        if fails:
            raise ValueError(f"{card} is refused")
        return {"charged": card}

    @workflow(name="redacted.pay")
    def pay(number):
        return [charge(), number]

    run = pay.enqueue(card)
    drain()
    return run


def page(client, run):
    response = client.get(reverse("admin:durable_workflowstatus_change", args=[run.id]))
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("fails", ["", "fails"])
def test_no_page_shows_what_is_redacted(admin_client, redacting, fails):
    run = pays(SECRET, fails)
    html = page(admin_client, run)
    assert SECRET not in html
    if redacting == "hide":
        assert "a card" in html
        step_said = "error" if fails else "output"
        expected = {("input", None), (step_said, "charge"), (step_said, None)}
        assert {(what, name) for _, what, name in asked} == expected
        assert {name for name, _, _ in asked} == {"redacted.pay"}
    else:
        assert "break_down raised KeyError" in html


def test_what_is_stored_and_given_to_code_stays_whole(redacting):
    run = pays(SECRET)
    assert run.result() == [{"charged": SECRET}, SECRET]
    assert SECRET in WorkflowStatus.objects.get().input
    assert SECRET in StepOutput.objects.get().output
    with pytest.raises(ValueError, match=SECRET):
        pays(SECRET, "fails").result()


def test_what_is_too_long_to_be_read_as_a_whole_is_not_shown(admin_client, redacting, monkeypatch):
    monkeypatch.setattr(payloads, "LONGEST", 100)
    run = pays(SECRET)
    WorkflowStatus.objects.update(input=f'{{"args": ["{SECRET * 2000}"], "kwargs": {{}}}}')
    html = page(admin_client, run)
    assert SECRET not in html
    assert "too many to be redacted" in html


def test_what_is_no_json_is_redacted_as_text(admin_client, redacting):
    run = pays("none")
    WorkflowStatus.objects.update(input=f"not JSON: {SECRET}", error=f"nor this: {SECRET}")
    assert SECRET not in page(admin_client, run)


def test_no_log_line_shows_it(redacting, caplog):
    undo = logs.connect()
    try:
        with caplog.at_level(logging.DEBUG, "django_durable"):
            pays(SECRET)
            pays(SECRET, "fails")
    finally:
        undo()
    lines = [logs.JSONLines().format(record) for record in caplog.records]
    assert any("failed: ValueError" in line for line in lines)
    assert not any(SECRET in line for line in lines)


def test_a_replay_that_diverges_does_not_show_it(redacting):
    run = pays(SECRET, "fails")
    (declaration,) = [each for each in workflows if each.name == "redacted.pay"]
    workflows.remove(declaration)

    @workflow(name="redacted.pay")
    def pay(number):
        try:
            charge()
        except ValueError as error:
            raise RuntimeError(str(error)) from None

    @step(name="charge")
    def charge():
        raise AssertionError("it is recorded")

    out = StringIO()
    with pytest.raises(CommandError) as diverges:
        call_command("durable_replay", run.id, stdout=out)
    assert "RuntimeError" in str(diverges.value)
    assert SECRET not in out.getvalue() + str(diverges.value)


def test_without_the_setting_everything_is_shown(admin_client):
    run = pays(SECRET)
    assert SECRET in page(admin_client, run)
    assert asked == []
