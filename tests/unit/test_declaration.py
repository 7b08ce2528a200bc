"""What a decorator says about a function, and whether a call fits it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from django_durable import step as durable_step
from django_durable import workflow as durable_workflow
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


def test_one_text_is_not_several_former_names():
    with pytest.raises(InvalidOption, match="aliases must be several texts"):
        durable_workflow(name="w", aliases="old.path")(takes)


class Callable:
    def __call__(self):
        """Not a function."""


@pytest.mark.parametrize("given", ["name", partial(takes, 1), Callable(), Callable, 5])
def test_what_is_no_function_is_refused_with_the_way_to_give_options(given):
    for declare in (durable_workflow, durable_workflow(name="named"), durable_step):
        with pytest.raises(TypeError, match=r"@(workflow|step) takes a function, .*name="):
            declare(given)


def test_a_step_that_is_given_a_name_may_be_any_callable():
    assert durable_step(name="named")(partial(takes, 1)).name == "named"
    with pytest.raises(TypeError, match="@step takes a function"):
        durable_step(name="named")("name")


def numbers():
    yield 1


async def numbers_later():
    yield 1


@pytest.mark.parametrize("declare", [workflow, step])
@pytest.mark.parametrize("function", [numbers, numbers_later])
def test_a_body_that_yields_is_refused(declare, function):
    with pytest.raises(InvalidOption, match=r"(workflow 'w'|step 's') yields"):
        declare(function)


@pytest.mark.parametrize("decorator", [durable_workflow, durable_step])
def test_names_of_the_packages_own_records_are_refused(decorator):
    with pytest.raises(InvalidIdentifier, match=r"must not begin with 'durable\.'"):
        decorator(name="durable.sleep")(takes)
    assert workflow(takes, aliases=("durable.formerly",)).aliases == ("durable.formerly",)


def test_whether_a_function_is_async_is_seen_and_an_async_step_cannot_be_atomic():
    async def wait():
        pass

    assert workflow(wait).is_async
    assert step(wait).is_async
    assert not step(takes).is_async
    with pytest.raises(InvalidOption, match="async"):
        step(wait, atomic=True)
