"""A declared function keeps what others have put on it, and loses nothing of what it is for."""

from __future__ import annotations

import functools
import inspect

import pytest

from django_durable import step, workflow
from django_durable.engine.declared import workflows


def tagged(**attributes):
    def put(function):
        for name, value in attributes.items():
            setattr(function, name, value)
        return function

    return put


def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


@pytest.fixture
def declare():
    made = []

    def declare(function, **options):
        made.append(workflow(name=f"likeness.{len(made)}", **options)(function))
        return made[-1]

    yield declare
    for each in made:
        workflows.remove(each.declaration)


OTHERS = {
    "short_description": "a task",
    "enqueue": "of another queue",
    "options": {},
    "declaration": 1,
    "name": "",
}


def test_attributes_stay_but_for_those_that_it_has_itself(declare):
    @tagged(**OTHERS)
    def pack(item: str) -> str:
        """Pack it."""
        return item

    for made in (declare(pack, queue="mail"), step(name="pack", max_attempts=3)(pack)):
        assert made.short_description == "a task"
        assert made.__doc__ == "Pack it."
        assert str(inspect.signature(made)) == "(item: 'str') -> 'str'"
        assert made.declaration.function is pack
        assert made.name in ("likeness.0", "pack")
    made = declare(pack, queue="mail")
    assert made.options.queue == "mail"
    assert callable(made.enqueue)


def test_a_wrapped_step_is_a_function_like_any_other(declare):
    @step
    def charge(amount):
        return amount

    wrapped = logged(charge)
    assert declare(wrapped).declaration.function is wrapped
    again = step(name="again", max_attempts=4)(wrapped)
    assert again.declaration.retries.max_attempts == 4
    assert again.name == "again"


@pytest.mark.parametrize("outer", [step, step(max_attempts=5), workflow, workflow(queue="mail")])
def test_what_is_declared_already_is_refused(declare, outer):
    for inner in (step(lambda: 1), declare(lambda: 1)):
        with pytest.raises(TypeError, match="declared already"):
            outer(inner)
