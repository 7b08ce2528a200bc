"""What goes into a payload column comes back as it was, or is refused in words before any SQL."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
from collections import OrderedDict, defaultdict
from contextlib import closing
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings

from django_durable.core.payloads.jsontree import MAX_DEPTH
from django_durable.core.payloads.serialization import dumps, dumps_call, json_serializer, loads, loads_call
from django_durable.exceptions import NotSerializable, PayloadTooLarge, PayloadUnreadable
from tests.unit import stored
from tests.unit.stored import MAX_BYTES, same

slow = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def write(value):
    return dumps(value, where="the result", max_bytes=MAX_BYTES)


def refusal(value):
    with pytest.raises(NotSerializable) as caught:
        write(value)
    return caught.value


def nested(depth):
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@slow
@given(stored.values)
def test_every_storable_value_comes_back_with_its_types(value):
    text = write(value)
    assert same(loads(text), value)
    json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are Python's own words
    assert "\0" not in text
    text.encode("utf-8")


@slow
@given(stored.plain_values)
def test_plain_values_are_written_as_any_json_writer_would(value):
    assert write(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert same(loads(write(value)), value)


@pytest.mark.parametrize("value", stored.EXAMPLES, ids=ascii)
def test_known_traps_come_back(value):
    assert same(loads(write(value)), value)


@settings(max_examples=100, deadline=None)
@given(stored.values, stored.values)
@example({"$": 1}, {"$": 2})
def test_a_call_comes_back_as_its_arguments(first, second):
    text = dumps_call((first, second), {"order": second, "$": first}, max_bytes=MAX_BYTES)
    args, kwargs = loads_call(text)
    assert same(args, (first, second))
    assert same(kwargs, {"order": second, "$": first})


def test_a_file_name_that_is_no_utf8_comes_back():
    assert loads(write(os.fsdecode(b"\xff\x00caf\xe9"))) == os.fsdecode(b"\xff\x00caf\xe9")


def test_an_int_beyond_the_digits_json_may_write_comes_back():
    assert loads(write({"n": 10**140_000})) == {"n": 10**140_000}


def test_an_object_that_stands_twice_comes_back_as_two():
    shared = [1]
    first, second = loads(write([shared, shared]))
    assert first == second
    assert first is not second


class Text(str):
    __slots__ = ()


class Number(float):
    pass


def foreign(*attributes):
    """As the libraries make them whose classes have these attributes."""
    return type("Foreign", (), dict.fromkeys(attributes))()


class Basket(list):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (Text("a"), "pass str(value)"),
        (Number(1.5), "pass float(value)"),
        (OrderedDict(a=1), "pass dict(value)"),
        (defaultdict(list), "pass dict(value)"),
        (Basket([1]), "pass list(value)"),
        (sys.version_info, "pass tuple(value)"),
        (type("Day", (datetime,), {})(2026, 1, 1), "plain date or datetime"),
        ((number for number in [1]), "read only once"),
        (io.BytesIO(), "pass its name or its content"),
        (memoryview(b"a"), "pass bytes(value)"),
        (range(3), "pass a list"),
        (len, "code is not stored"),
        (stored.Plain, "code is not stored"),
        (lambda: None, "code is not stored"),
        (complex(1), "pass plain data"),
        (stored.Plain(), "pass plain data"),
        (stored.Quiet(), "pass plain data"),
        (object(), "pass plain data"),
        (Path("a"), "pass str(value)"),
        (foreign("__array__", "tolist", "tobytes", "__iter__"), "pass value.tolist()"),
        (foreign("__array__", "to_dict", "__iter__"), "pass value.to_dict()"),
        (foreign("model_dump", "__iter__"), "pass value.model_dump()"),
        (foreign("__attrs_attrs__"), "pass attrs.asdict(value)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_would_not_come_back_is_refused_with_what_to_pass_instead(value, hint):
    error = refusal([1, {"k": value}])
    assert error.path == "value[1]['k']"
    assert error.where == "the result"
    assert hint in str(error)
    assert type(value).__qualname__ in str(error)


def test_a_socket_is_refused():
    with closing(socket.socket()) as connection:
        assert "belongs to one process" in str(refusal(connection))


def test_a_coroutine_is_refused():
    async def body():
        pass

    waiting = body()
    assert "await it first" in str(refusal([waiting]))
    waiting.close()


class Noon(tzinfo):
    def utcoffset(self, moment):
        return timedelta(0)

    def dst(self, moment):
        return None

    def tzname(self, moment):
        return "noon"


def test_a_datetime_of_an_unknown_zone_is_refused():
    error = refusal({"at": datetime(2026, 1, 1, tzinfo=Noon())})
    assert error.path == "value['at']"
    assert "zoneinfo" in error.hint


def test_the_path_of_an_error_shows_keys_without_calling_their_repr():
    class Key(stored.Quiet):
        pass

    assert "<" in refusal({Key(): object()}).path
    assert refusal({"k" * 100: object()}).path == f"value['{'k' * 36}...]"
    assert refusal({10**5000: object()}).path == "value[<int>]"
    assert refusal({"\ud800\0": object()}).path == r"value['\ud800\x00']"
    assert refusal({object(): 1}).path == "value.keys()[0]"


@pytest.mark.parametrize(
    "wrap",
    [list, tuple, stored.Money, lambda values: {1: values}],
    ids=["list", "tuple", "dataclass", "pairs"],
)
def test_a_circle_is_refused_with_the_place_it_closes(wrap):
    circle: list[object] = [1]
    circle.append(wrap([circle]))
    error = refusal({"k": circle})
    assert "so it holds itself" in error.hint
    assert "value['k']" in error.hint


def test_a_dict_that_holds_itself_is_refused():
    circle: dict[str, object] = {}
    circle["me"] = circle
    assert refusal(circle).path == "value['me']"


def test_the_deepest_nesting_allowed_comes_back_and_the_next_is_refused():
    assert loads(write(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    assert f"deeper than {MAX_DEPTH}" in str(refusal(nested(MAX_DEPTH + 1)))
    assert f"deeper than {MAX_DEPTH}" in str(refusal(nested(20_000)))


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="json's C code has a stack of its own since Python 3.12"
)
def test_what_is_too_deep_for_the_stack_left_is_refused():
    def from_below(frames):
        return from_below(frames - 1) if frames else refusal((nested(400),))

    assert "nested too deeply" in str(from_below(sys.getrecursionlimit() - 400))


def test_a_tangle_that_would_fill_the_memory_is_refused(monkeypatch):
    for module in ("jsontext", "jsontree"):
        monkeypatch.setattr(f"django_durable.core.payloads.{module}.MAX_VALUES", 20_000)
    tangle: list[object] = []
    for _ in range(60):
        tangle = [tangle, tangle]
    for value in (tangle, (tangle,), [[0] * 1000] * 30, ([0] * 1000,) * 30):
        assert "more than" in str(refusal(value))


def test_the_size_limit_counts_bytes():
    text = "é" * 100
    assert dumps(text, where="it", max_bytes=202) == f'"{text}"'
    with pytest.raises(PayloadTooLarge) as caught:
        dumps(text, where="the result of step 'charge'", max_bytes=201)
    assert "the result of step 'charge': 202 bytes are above the limit of 201" in str(caught.value)
    with pytest.raises(PayloadTooLarge):
        dumps("a" * 1000, where="it", max_bytes=100)


@pytest.mark.parametrize(
    ("args", "kwargs", "where", "path"),
    [
        (({"k": [0, 1, 2, object()]},), {}, "argument 1 ('order')", "args[0]['k'][3]"),
        ((1, object()), {}, "argument 2", "args[1]"),
        ((1,), {"order": (object(),)}, "argument 'order'", "kwargs['order'][0]"),
    ],
)
def test_a_refused_argument_is_named(args, kwargs, where, path):
    with pytest.raises(NotSerializable) as caught:
        dumps_call(args, kwargs, max_bytes=MAX_BYTES, names=["order"])
    assert (caught.value.where, caught.value.path) == (where, path)
    assert str(caught.value).startswith(f"{where} cannot be stored: {path} is of type object; ")


def test_arguments_that_are_too_large_together_are_refused():
    with pytest.raises(PayloadTooLarge) as caught:
        dumps_call(("a" * 60, "b" * 60), {}, max_bytes=100)
    assert caught.value.where == "the arguments"


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "nul", "[1,]", "\x00"),
        "[" * 20_000 + "]" * 20_000,
        "[" + "9" * 5000 + "]",
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_text_that_is_no_json_cannot_be_read(text):
    with pytest.raises(PayloadUnreadable):
        loads(text)


@pytest.mark.parametrize(
    "text", ["1", "[]", "[[1],{}]", '{"args":1}', '{"kwargs":[]}', '{"args":[],"other":1}']
)
def test_text_that_is_no_call_cannot_be_read(text):
    with pytest.raises(PayloadUnreadable):
        loads_call(text)


@pytest.mark.parametrize("text", ["{}", '{"args":[]}', ' { "kwargs" : { } } '])
def test_another_program_may_leave_out_empty_arguments(text):
    assert loads_call(text) == ((), {})


def test_an_escaped_mark_means_the_same_as_a_plain_one():
    assert loads('{"\\u0024":"decimal","v":"1.10"}') == loads('{"$":"decimal","v":"1.10"}') == Decimal("1.10")


class Foreign:
    tag = "foreign"

    def __init__(self, written="text", fault=None):
        self.written = written
        self.fault = fault

    def dumps(self, value, where):
        if self.fault and value != "fine":
            raise self.fault
        return self.written

    def loads(self, text):
        raise self.fault


@pytest.mark.parametrize("written", ["a\0b", "a\ud800"])
def test_a_serializer_whose_text_postgres_cannot_store_is_refused(written):
    with pytest.raises(NotSerializable, match="'foreign' wrote"):
        dumps(1, where="it", max_bytes=100, serializer=Foreign(written))


def test_a_serializer_that_raises_is_named_with_the_argument():
    serializer = Foreign(fault=RuntimeError("cannot pickle"))
    with pytest.raises(NotSerializable, match="'foreign' refuses it: cannot pickle"):
        dumps(1, where="it", max_bytes=100, serializer=serializer)
    with pytest.raises(NotSerializable) as caught:
        dumps_call(("fine",), {"order": 1}, max_bytes=100, serializer=serializer)
    assert caught.value.where == "argument 'order'"


def test_a_serializer_that_refuses_only_the_whole_call_names_the_arguments():
    class Whole(Foreign):
        def dumps(self, value, where):
            if isinstance(value, dict):
                raise ValueError("no dict")
            return ""

    with pytest.raises(NotSerializable) as caught:
        dumps_call((1,), {}, max_bytes=100, serializer=Whole())
    assert caught.value.where == "the arguments"


def test_a_serializer_that_cannot_read_is_told_apart_from_a_broken_connection():
    with pytest.raises(PayloadUnreadable, match="'foreign' refuses it"):
        loads("x", serializer=Foreign(fault=ValueError("bad")))
    with pytest.raises(ConnectionError):
        loads("x", serializer=Foreign(fault=ConnectionError()))


def test_the_default_serializer_names_the_value_if_nobody_does():
    with pytest.raises(NotSerializable) as caught:
        json_serializer.dumps(object())
    assert caught.value.where == "value"
