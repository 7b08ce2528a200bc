"""Lengths of time as people write and read them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_durable.core.durations import in_words, read
from django_durable.core.options import LONGEST
from django_durable.exceptions import InvalidOption


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90", timedelta(seconds=90)),
        ("90s", timedelta(seconds=90)),
        ("1m", timedelta(minutes=1)),
        ("1 min", timedelta(minutes=1)),
        (" 1H30M ", timedelta(hours=1, minutes=30)),
        ("1.5s", timedelta(seconds=1.5)),
        ("250ms", timedelta(milliseconds=250)),
        ("2d 1h", timedelta(days=2, hours=1)),
        ("0", timedelta(0)),
    ],
)
def test_a_length_is_read_as_it_is_written(text, length):
    assert read(text) == length


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-1",
        "1x",
        "m",
        "1m-",
        "one minute",
        "1:30",
        "nan",
        "1e9",
        "1..5",
        "\u0661m",
        "1m " + "x" * 999,
    ],
)
def test_what_is_no_length_is_refused_with_examples(text):
    with pytest.raises(InvalidOption, match="is no length of time; write 30s, 1m, 1h30m or 1d") as refused:
        read(text)
    assert len(str(refused.value)) < 200


def test_no_sum_of_parts_is_more_than_can_be_held():
    assert read("99999999d" * 30) > LONGEST


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(0), "0 s"),
        (timedelta(microseconds=1500), "1.5 ms"),
        (timedelta(milliseconds=250), "250 ms"),
        (timedelta(seconds=1), "1 s"),
        (timedelta(seconds=90), "1 min 30 s"),
        (timedelta(hours=24), "1 d"),
        (timedelta(days=1, seconds=1.5), "1 d 1.5 s"),
        (timedelta(seconds=-1), "-1 d 23 h 59 min 59 s"),
    ],
)
def test_a_length_is_told_whole(length, words):
    assert in_words(length) == words


@given(st.timedeltas(min_value=timedelta(0), max_value=LONGEST))
def test_what_is_told_can_be_read_again(length):
    milliseconds = timedelta(milliseconds=length // timedelta(milliseconds=1))
    assert read(in_words(milliseconds)) == milliseconds
