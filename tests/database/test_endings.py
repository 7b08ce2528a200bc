"""What a body asks for with values that make no sense ends in plain words, and breaks no slot."""

from __future__ import annotations

import pytest
from django.utils.translation import gettext_lazy

from django_durable import Cancel, Fail, Snooze, control, recv, workflow, workflow_id
from django_durable.core.states import Status
from django_durable.exceptions import InvalidOption, WorkflowCancelled, WorkflowFailed
from tests.drain import row


class Declined(Exception):
    pass


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Declined("no money"), "no money"),
        (404, "404"),
        (gettext_lazy("Yes"), "Yes"),
        (["a"], "['a']"),
        (None, ""),
    ],
)
@pytest.mark.parametrize("ask", ["raise", "own id"])
def test_a_reason_that_is_no_text_is_written_as_one(drain, ask, reason, text):
    @workflow
    def body():
        if ask == "raise":
            raise Cancel(reason)
        control.cancel([workflow_id() or ""], reason=reason)

    run = body.enqueue()
    drain()
    assert run.status == Status.CANCELLED
    with pytest.raises(WorkflowCancelled) as raised:
        run.result()
    assert raised.value.reason == text


def test_a_reason_that_is_no_text_cancels_from_outside_too(drain):
    @workflow
    def body():
        recv("never")

    run = body.enqueue()
    drain()
    control.cancel([run.id], reason=404)
    with pytest.raises(WorkflowCancelled, match="404"):
        run.result()


@pytest.mark.parametrize(
    ("ask", "text"), [(lambda: Fail, ""), (lambda: Fail(Declined("no money")), "no money")]
)
def test_fail_as_a_class_or_with_an_error_fails_at_once(drain, ask, text):
    @workflow(max_attempts=5)
    def body():
        try:
            raise ask()
        except Exception:
            return "swallowed"

    run = body.enqueue()
    drain()
    assert run.status == Status.ERROR
    with pytest.raises(WorkflowFailed, match=f"Fail: {text}$"):
        run.result()


def test_a_snooze_for_none_is_refused_in_words(drain):
    @workflow
    def body():
        raise Snooze(None)

    run = body.enqueue()
    assert len(drain()) == 1
    with pytest.raises(InvalidOption, match=r"the delay of Snooze must be .*None"):
        run.result()


class Vanished(Cancel):
    """Its base was never told."""

    def __init__(self):
        pass


class Defiant(Vanished):
    @property
    def reason(self):  # type: ignore[override]
        raise SystemExit("no reason at all")


class Unlike(type):
    def __instancecheck__(cls, instance):
        raise LookupError("no answer")


class Odd(Exception, metaclass=Unlike):
    pass


class Loud(Snooze):
    def __getattribute__(self, name):
        if name == "delay":
            raise RuntimeError
        return super().__getattribute__(name)


@pytest.mark.parametrize("make", [Vanished, Defiant, lambda: Loud(5)])
def test_an_error_that_cannot_be_looked_at_ends_its_run_in_words_and_says_where(drain, make):
    @workflow(max_attempts=3)
    def body():
        raise make()

    run = body.enqueue()
    assert len(drain()) == 1
    assert run.status == Status.ERROR
    with pytest.raises(InvalidOption, match=r"the body ended with .*, and looking at that raised"):
        run.result()
    assert "raise make()" in row(run).error


def test_a_rule_of_retries_that_raises_ends_the_run_in_words(drain):
    @workflow(max_attempts=3, retry_on=Odd)
    def body():
        raise ValueError("no")

    run = body.enqueue()
    assert len(drain()) == 1
    with pytest.raises(InvalidOption, match=r"ended with ValueError, .*LookupError"):
        run.result()
