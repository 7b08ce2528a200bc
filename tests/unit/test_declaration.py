"""What a decorator says about a function, and whether a call fits it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from django_durable.core.declaration import StepDeclaration, WorkflowDeclaration
from django_durable.core.options import Options
from django_durable.core.retries import RetryPolicy
from django_durable.exceptions import InvalidIdentifier, InvalidOption


def workflow(function, **more):
    return WorkflowDeclaration(
        name="w", function=function, origin="here", options=Options(), retries=RetryPolicy(), **more
    )


def step(function, **more):
    return StepDeclaration(name="s", function=function, retries=RetryPolicy(), **more)


def takes(order: int, /, gift: bool = False, *lines: Any, note: str, **more: Any) -> None:
    """A parameter of every kind."""


@pytest.mark.parametrize(
    ("args", "kwargs", "fits"),
    [
        ((1,), {"note": "a"}, True),
        ((1, True, "x", "y"), {"note": "a", "extra": 1}, True),
        ((1,), {"note": "a", "order": 2}, True),  # positional only: the name is free for **more
        ((1,), {}, False),
        ((), {"note": "a"}, False),
        ((1, True), {"note": "a", "gift": True}, False),
    ],
)
def test_a_call_is_held_to_the_signature(args, kwargs, fits):
    declared = workflow(takes)
    if fits:
        declared.check_call(args, kwargs)
    else:
        with pytest.raises(TypeError, match="workflow 'w' cannot be called so: "):
            declared.check_call(args, kwargs)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda idempotency_key: None, True),
        (lambda *, idempotency_key=None: None, True),
        (lambda idempotency_key, /: None, False),
        (lambda **more: None, False),
        (lambda: None, False),
    ],
)
def test_a_step_gets_the_idempotency_key_if_it_can_take_it_by_name(function, wanted):
    assert step(function).wants_idempotency_key is wanted


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "lacks"),
    [
        (lambda a, idempotency_key: None, (1,), {}, True),
        (lambda a, idempotency_key: None, (1, "key"), {}, False),
        (lambda a, idempotency_key: None, (1,), {"idempotency_key": "key"}, False),
        (lambda *items, idempotency_key: None, (1, 2, 3), {}, True),
        (lambda a: None, (1,), {}, False),
    ],
)
def test_a_call_lacks_the_idempotency_key_if_it_gives_none_by_name_or_position(function, args, kwargs, lacks):
    assert step(function).lacks_idempotency_key(args, kwargs) is lacks


@pytest.mark.parametrize(
    ("given", "seconds"), [(None, None), (1.5, 1.5), (timedelta(minutes=1), 60.0), (3, 3.0)]
)
def test_the_timeout_of_a_step_is_kept_as_seconds(given, seconds):
    assert step(takes, timeout=given).timeout == seconds


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "5", True, timedelta(0), []])
def test_a_timeout_that_makes_no_sense_is_refused_with_the_steps_name(timeout):
    with pytest.raises(InvalidOption, match="the timeout of step 's'"):
        step(takes, timeout=timeout)


def test_former_names_are_held_to_the_rule_of_names():
    with pytest.raises(InvalidIdentifier):
        workflow(takes, aliases=("",))


def test_whether_a_function_is_async_is_seen_and_an_async_step_cannot_be_atomic():
    async def wait():
        pass

    assert workflow(wait).is_async
    assert step(wait).is_async
    assert not step(takes).is_async
    with pytest.raises(InvalidOption, match="async"):
        step(wait, atomic=True)
