"""Django's ValidationError as a recorded error: its messages, fields, codes and parameters come back."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from django_durable.core.payloads.failures import describe, restore
from django_durable.exceptions import StepRetriesExhausted

LEAF = ValidationError("no %(what)s", code="none", params={"what": "room"})


def again(error: BaseException) -> Any:
    return restore(describe(error))


class Refused(ValidationError):
    """As a project derives one, with an attribute of its own."""


def told(error):
    """All that a caller can ask of it, through Django's own methods."""
    by_field = error.message_dict if hasattr(error, "error_dict") else None
    found = list(chain(*error.error_dict.values())) if by_field else error.error_list
    return (
        *(type(error), str(error), error.messages, by_field),
        [(each.message, each.code, each.params) for each in found],
    )


@pytest.mark.parametrize(
    "error",
    [
        *(ValidationError("bad"), LEAF, ValidationError(["a", LEAF]), ValidationError([])),
        ValidationError({"name": ["short", LEAF], "__all__": ["never"]}),
        ValidationError(gettext_lazy("Enter a valid value.")),
        StepRetriesExhausted("check", [ValidationError({"name": LEAF})]),
    ],
    ids=repr,
)
def test_it_comes_back_with_all_that_django_asks_of_it(error):
    back = again(error)
    if isinstance(error, StepRetriesExhausted):
        (back,), (error,) = back.errors, error.errors
    assert told(back) == told(error)


def test_a_subclass_comes_back_with_its_attributes():
    error = Refused({"name": [LEAF]})
    vars(error)["form"] = "order"
    back = again(error)
    assert (told(back), back.form) == (told(error), "order")


@pytest.mark.parametrize(
    "make", [lambda e: e, lambda e: ValidationError([e]), lambda e: ValidationError({"f": e})]
)
def test_parameters_that_cannot_be_stored_are_filled_into_the_message(make):
    error = make(ValidationError("%(file)s is too large", code=ValueError, params={"file": open}))
    back = again(error)
    assert back.messages == error.messages == [f"{open} is too large"]


def test_what_django_would_fail_on_is_read_as_text():
    error = ValidationError("%(what)s")
    error.params = {"who": open}
    assert "%(what)s" in again(error).messages[0]
