"""Ids, keys, names and priorities: stored exactly as given, or refused with the reason."""

from __future__ import annotations

import base64
import enum
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_durable.core.identifiers import check_identifier, check_priority
from django_durable.exceptions import InvalidIdentifier
from tests.unit.stored import Quiet


def refusal(value, **options):
    with pytest.raises(InvalidIdentifier) as caught:
        check_identifier("limit key", value, **options)
    assert caught.value.kind == "limit key"
    assert str(caught.value) == f"limit key {caught.value.reason}"
    str(caught.value).encode("utf-8")
    return caught.value.reason


ODD_NAMES = [
    *(
        "a",
        "A",
        "None",
        "0",
        "01",
        "a-b",
        "a:b/c|d",
        "*",
        ",",
        "$1",
        "{0}",
        "\\",
        "select",
        "Foo Bar",
        '"a""b"',
    ),
    *("x'; DROP TABLE django_migrations;--", "a%sb", "%(x)s", r"a\'b", "<img src=x onerror=alert(1)>"),
    *("é", "e\u0301", "\u202eabc", "\u200fa", "👨\u200d👩\u200d👧", "😀" * 16, "é" * 32, "日本", "\ufeffa"),
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_an_odd_name_is_kept_as_it_is(name):
    assert check_identifier("queue name", name) is name


def test_names_that_look_alike_stay_two_names():
    assert check_identifier("queue name", "\u00e9") != check_identifier("queue name", "e\u0301")


@pytest.mark.parametrize(
    "value", [0, 1, False, 1.5, b"a", ["a"], object(), Quiet()], ids=lambda value: type(value).__name__
)
def test_what_is_no_text_is_refused(value):
    assert f"of type {type(value).__name__}" in refusal(value)


def test_none_is_refused_unless_the_name_is_optional():
    assert refusal(None) == "must be a text; it is None"
    assert check_identifier("limit key", None, optional=True) is None
    assert check_identifier("limit key", "a", optional=True) == "a"


class Queues(enum.StrEnum):
    MAIL = "mail"


class Safe(str):
    __slots__ = ()


def test_a_subclass_of_text_is_refused_as_a_driver_may_store_something_else():
    assert "pass .value" in refusal(Queues.MAIL)
    assert "pass str(value)" in refusal(Safe("mail"))


BLANKS = [
    " ",
    "\t",
    "\n",
    "   ",
    "\u00a0",
    "\u3000",
    "\u200b",
    "\u200d\ufeff",
    "\u2800",
    "\u3164",
    "\u034f",
    "\ufe0f\u180b",
    "\U000e0100",
    "\u2028",
    "\x00",
    "\x1f",
]


@pytest.mark.parametrize("value", BLANKS, ids=ascii)
def test_a_name_that_nobody_can_see_is_refused(value):
    assert refusal(value).startswith("must hold something visible")
    assert refusal("", optional=True) == "must not be empty"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *(
            ("a\x00b", "control character at position 1"),
            ("a\nb", "control character"),
            ("\x1b[31m", "control"),
        ),
        *(
            ("a\u2028b", "line separator"),
            ("a\u2029b", "paragraph separator"),
            ("a\x85b", "control character"),
        ),
        *(
            ("a\ud800", "half a character at position 1"),
            ("\udcff", "half a character"),
            ("\udc00\ud800", "half"),
        ),
    ],
    ids=ascii,
)
def test_a_character_that_breaks_columns_or_lines_is_refused_with_its_position(value, words):
    assert words in refusal(value)


@pytest.mark.parametrize("value", [" a", "a ", "a\u3000", "\u00a0a"], ids=ascii)
def test_outer_white_space_is_refused(value):
    assert "must not begin or end with white space" in refusal(value)


@pytest.mark.parametrize("size", [127, 128, 129, 255])
def test_a_name_as_long_as_the_limit_is_kept(size):
    name = incompressible(size)
    assert check_identifier("limit key", name) == name


@pytest.mark.parametrize("size", [256, 2705, 10**6])
def test_a_longer_name_is_refused_and_never_cut(size):
    assert refusal(incompressible(size)) == (
        f"takes {size} bytes in UTF-8, and 255 is the limit; shorten it or use a hash of it"
    )


def test_the_limit_counts_bytes():
    assert check_identifier("limit key", "😀" * 63) == "😀" * 63
    assert "takes 256 bytes" in refusal("😀" * 64)
    assert "takes 5 bytes in UTF-8, and 4 is the limit" in refusal("abcde", max_bytes=4)


def test_a_long_name_is_not_repeated_in_whole():
    assert len(refusal("\x00" * 10**6)) < 300


@settings(max_examples=500, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=300))
def test_every_text_is_kept_whole_or_refused(text):
    try:
        kept = check_identifier("workflow id", text)
    except InvalidIdentifier:
        return
    assert kept is text
    assert len(kept.encode("utf-8")) <= 255
    assert "\0" not in kept
    assert kept.strip() == kept != ""


@pytest.mark.parametrize("value", [-100, -1, 0, 1, 100])
def test_a_priority_in_range_is_kept(value):
    assert check_priority(value) == value


@pytest.mark.parametrize(
    "value", [-101, 101, 40_000, 2**31, 10**5000, -(10**5000)], ids=lambda n: str(n.bit_length())
)
def test_a_priority_out_of_range_is_refused(value):
    with pytest.raises(InvalidIdentifier, match="priority must lie between -100 and 100"):
        check_priority(value)


@pytest.mark.parametrize(
    "value", [True, False, None, 1.0, "1", float("nan"), Quiet()], ids=lambda v: type(v).__name__
)
def test_a_priority_that_is_no_whole_number_is_refused(value):
    with pytest.raises(InvalidIdentifier, match="must be a whole number"):
        check_priority(value)


def incompressible(size):
    return base64.b64encode(random.Random(size).randbytes(size)).decode("ascii")[:size]
