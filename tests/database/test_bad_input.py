"""What cannot be stored is refused before any SQL, in words that name it; the transaction goes on."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_durable import Options, enqueue_by_name, step, workflow
from django_durable.exceptions import (
    DuplicateDeclaration,
    InvalidIdentifier,
    InvalidOption,
    NotSerializable,
    PayloadTooLarge,
)
from django_durable.models import Queue, WorkflowStatus
from tests.testapp.workflows import echo, two_steps

pytestmark = pytest.mark.django_db


def refused(kind, call, *parts):
    """The call raises `kind` with these parts in its message, sends nothing, and the transaction goes on."""
    with transaction.atomic():
        with CaptureQueriesContext(connection) as sent, pytest.raises(kind) as raised:
            call()
        told = str(raised.value)
        assert [query["sql"] for query in sent.captured_queries] == []
        assert all(part in told for part in parts), told
        assert len(told) < 500
        told.encode()
        echo.using(id="after").enqueue()
    assert list(WorkflowStatus.objects.values_list("id", flat=True)) == ["after"]


UNKNOWN = {
    "piority": "did you mean 'priority'?",
    "deduplication": "did you mean 'deduplication_id'?",
    "zzz": "known options:",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_option_is_told_with_the_nearest_known(name):
    refused(InvalidOption, lambda: echo.using(**{name: 1}).enqueue(), repr(name), UNKNOWN[name])


BLANK = ["", " ", "\t", "\n", "\u200b", "\u00a0", "\ufeff", "\u3164"]
UNSTORABLE = ["\x00", "a\x00b", "\ud800", "a\udcffb", "\x1b[31m", "a\nb"]
NO_TEXT = [0, 1, False, b"a", 1.5, object(), ["a"]]
TOO_LONG = ["x" * 256, "\U0001f600" * 64, "x" * 10**6]
NAMES = {
    "id": "workflow id",
    "queue": "queue name",
    "partition_key": "partition_key",
    "limit_key": "limit_key",
    "deduplication_id": "deduplication_id",
    "app_version": "app version",
}


@pytest.mark.parametrize("option", NAMES)
@pytest.mark.parametrize(
    "value", [*BLANK, *UNSTORABLE, *NO_TEXT, *TOO_LONG], ids=lambda value: ascii(value)[:20]
)
def test_a_name_that_could_not_be_stored_or_told_apart_is_refused_by_its_kind(option, value):
    refused(InvalidIdentifier, lambda: echo.using(**{option: value}).enqueue(), NAMES[option])


@pytest.mark.parametrize("option", NAMES)
@pytest.mark.parametrize("length", [127, 128, 129, 255])
def test_a_name_of_255_bytes_is_stored_whole(option, length):
    echo.using(**{option: "x" * length}).enqueue()
    assert WorkflowStatus.objects.values_list(option, flat=True).get() == "x" * length


@pytest.mark.parametrize("value", BLANK)
def test_a_blank_id_is_refused_at_every_door(value):
    for call in (
        lambda: echo.using(id=value),
        lambda: Options(id=value),
        lambda: enqueue_by_name(value),
        lambda: echo.using(queue=value).enqueue_many([((), {})]),
        lambda: async_to_sync(echo.using(id="a").using(id=value).aenqueue)(),
    ):
        with pytest.raises(InvalidIdentifier):
            call()
    assert not WorkflowStatus.objects.exists()


class Silent:
    def __repr__(self):
        raise RuntimeError("no text")


looped: list[Any] = []
looped.append(looped)
deep: list[Any] = []
for _ in range(5000):
    deep = [deep]
LENGTHS: list[Any] = [-1, math.nan, math.inf, -math.inf, True, "60", [], Decimal(1), Silent()]
LENGTHS += [timedelta.max, timedelta(-1), 10**400, 10**5000]
INSTANTS: list[Any] = [
    datetime(2026, 1, 1),
    datetime.max,
    datetime.max.replace(tzinfo=UTC),
    datetime.min.replace(tzinfo=UTC),
    date(2026, 1, 1),
    "2026-01-01T00:00:00Z",
    "2016-12-31T23:59:60Z",
    timedelta(1),
    0,
    1.5,
    math.nan,
    10**5000,
    Silent(),
]
NONSENSE: dict[str, list[Any]] = {
    "priority": [101, -101, 10**9, 10**5000, 1.0, math.nan, True, "1", []],
    "max_attempts": [0, -1, 10**10, 10**5000, 1.5, True, "3", Silent()],
    "delay": LENGTHS,
    "expires_in": LENGTHS,
    "timeout": LENGTHS,
    "run_at": INSTANTS,
    "expires_at": INSTANTS,
    "deadline": INSTANTS,
    "attributes": [
        [],
        "a",
        Silent(),
        {1: "a"},
        {"a": [{1: "a", "1": "b"}]},
        {"a": looped},
        {"a": object()},
        {"a": math.nan},
        {"a": "\x00"},
        {"a\x00": 1},
        {"a": "\ud800"},
        {"a": 10**140_000},
        {"a": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
    "on_conflict": ["replace", None, []],
    "on_duplicate": ["replace", None, []],
}


@pytest.mark.parametrize(
    ("option", "position"), [(option, n) for option, values in NONSENSE.items() for n in range(len(values))]
)
def test_a_value_that_makes_no_sense_is_refused_by_the_name_of_its_option(option, position):
    value = NONSENSE[option][position]
    refused((InvalidOption, InvalidIdentifier), lambda: echo.using(**{option: value}).enqueue(), option)


def test_attributes_nested_too_deep_or_too_large_are_refused():
    nested: dict[str, Any] = {}
    for _ in range(5000):
        nested = {"a": nested}
    refused(InvalidOption, lambda: echo.using(attributes=nested).enqueue(), "attributes")
    large = echo.using(attributes={"a": "x" * (9 << 20)})
    refused(PayloadTooLarge, large.enqueue, "attributes", str(8 << 20))


def test_attributes_that_only_look_like_a_nul_are_stored_as_they_are():
    attributes = {"a": r"\u0000", "b": "\\\\u0000", r"\u0000": 1}
    echo.using(attributes=attributes).enqueue()
    assert WorkflowStatus.objects.get().attributes == attributes


@pytest.mark.parametrize(("one", "other"), [("delay", "run_at"), ("expires_in", "expires_at")])
def test_saying_one_thing_twice_is_refused(one, other):
    instant = datetime(2100, 1, 1, tzinfo=UTC)
    refused(InvalidOption, lambda: echo.using(**{one: 5, other: instant}).enqueue(), one, other)


def test_many_runs_cannot_share_what_is_unique():
    for option in ("id", "deduplication_id"):
        with pytest.raises(InvalidOption, match=option):
            echo.using(**{option: "a"}).enqueue_many([((), {})])
    assert not WorkflowStatus.objects.exists()


@pytest.mark.parametrize(
    "value",
    [object(), Silent(), looped, deep, lambda: None, iter("ab"), Path, re.compile("a"), complex(1, 2)],
    ids=lambda value: type(value).__name__,
)
def test_an_argument_that_cannot_be_stored_is_named_with_the_path_to_it(value):
    refused(NotSerializable, lambda: echo.enqueue(1, value), "argument 2")
    WorkflowStatus.objects.all().delete()
    refused(
        NotSerializable,
        lambda: echo.enqueue(order={"lines": [1, value]}),
        "argument 'order'",
        "kwargs['order']",
    )


def test_an_argument_that_is_too_large_is_refused_with_both_sizes(settings):
    settings.DURABLE = {"MAX_PAYLOAD": 1000}
    refused(PayloadTooLarge, lambda: echo.enqueue("x" * 1000), "the arguments", "1000")


def test_a_call_that_does_not_fit_the_function_is_refused_in_the_caller():
    wrong: Any = two_steps
    for call in (
        lambda: wrong.enqueue(1),
        lambda: wrong.enqueue(nothing=1),
        lambda: two_steps.enqueue_many([((), {}), ((1,), {})]),
        lambda: async_to_sync(wrong.aenqueue)(1),
    ):
        with pytest.raises(TypeError, match=re.escape("workflow 'testapp.two_steps' cannot be called so")):
            call()
    assert not WorkflowStatus.objects.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": "\x00"},
        {"aliases": [" "]},
        {"queue": ""},
        {"max_attempts": 0},
        {"priority": 1000},
        {"timeout": -1},
        {"backoff": 0},
        {"retry_on": "ValueError"},
    ],
    ids=str,
)
def test_a_declaration_that_makes_no_sense_is_refused_where_it_stands(options):
    with pytest.raises((InvalidOption, InvalidIdentifier)):
        workflow(**options)(lambda: None)


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"max_attempts": 0},
        {"interval": -1},
        {"timeout": 0},
        {"backoff": math.nan},
        {"retry_on": 1},
    ],
    ids=str,
)
def test_a_step_that_makes_no_sense_is_refused_where_it_stands(options):
    with pytest.raises((InvalidOption, InvalidIdentifier)):
        step(**options)(lambda: None)


def test_two_functions_under_one_name_are_refused_with_both_places():
    with pytest.raises(DuplicateDeclaration, match=r"testapp\.echo.*testapp\.workflows"):
        workflow(name="testapp.echo")(lambda: None)
    with pytest.raises(DuplicateDeclaration):
        workflow(name="other", aliases=["testapp.echo"])(lambda: None)


def test_an_argument_among_many_is_named_by_its_number_alone():
    @workflow(name="names.many")
    def many(a, *rest, b=None): ...

    with pytest.raises(NotSerializable, match=r"^argument 3 cannot"):
        many.enqueue(1, 2, object())
    with pytest.raises(NotSerializable, match=r"^argument 1 \('a'\) cannot"):
        many.enqueue(object(), 2)


@pytest.mark.parametrize("calls", [[1, 2], "ab", [((1,), {}), ((1,),)]])
def test_calls_of_the_wrong_shape_are_told_by_their_number(calls):
    with pytest.raises(InvalidOption, match=r"call [01] of enqueue_many\(\) has to be a pair"):
        echo.enqueue_many(calls)
    assert not WorkflowStatus.objects.exists()


def test_every_enqueue_on_a_queue_that_is_gone_says_so(caplog):
    queue = Queue.objects.create(name="fleeting")
    echo.using(queue="fleeting").enqueue()
    assert not caplog.records
    queue.delete()
    echo.using(queue="fleeting").enqueue()
    assert "queue 'fleeting' does not exist yet" in caplog.text
