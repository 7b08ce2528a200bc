"""Lengths of time as people write and read them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_durable.core.durations import UNITS, in_words, read
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
        ("604800000ms", timedelta(days=7)),
        ("123456789s", timedelta(seconds=123_456_789)),
        ("1.5000000h", timedelta(minutes=90)),
        ("0.0000005h", timedelta(microseconds=1800)),
        ("0.5ms", timedelta(microseconds=500)),
        ("0.0010005ms 0.0009995ms", timedelta(microseconds=2)),
        ("1ms2m3min4d", timedelta(days=4, minutes=5, milliseconds=1)),
        ("0" * 5000 + "1." + "0" * 5000 + "h", timedelta(hours=1)),
        ("36525d", LONGEST),
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
        "1m 30",
        "1 2 3",
        "5m s",
        "1.s",
        ".5s",
    ],
)
def test_what_is_no_length_is_refused_with_examples(text):
    with pytest.raises(InvalidOption, match="is no length of time; write 30s, 1m, 1h30m or 1d") as refused:
        read(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "text", ["36525d 1ms", "99999999d" * 30, "9" * 5000, "9" * 5000 + "ms", "101" * 9 + "d"]
)
def test_what_is_too_long_is_refused_with_the_longest(text):
    with pytest.raises(InvalidOption, match="is too long; a length of time is 36525 days at most") as refused:
        read(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "text", ["0.0000001s", "1.1234567s", "0.0005ms", "0.3333333333333h", "1." + "1" * 5000]
)
def test_what_is_finer_than_a_microsecond_is_refused(text):
    with pytest.raises(InvalidOption, match="is no whole number of microseconds") as refused:
        read(text)
    assert len(str(refused.value)) < 200


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
    assert read(in_words(length)) == length


@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.integers(0, 999), st.sampled_from(sorted(UNITS))), min_size=1
    )
)
def test_every_part_is_read_whole(parts):
    text = " ".join(f"{whole}.{thousandths:03}{unit}" for whole, thousandths, unit in parts)
    microseconds = sum(
        (whole * 1000 + thousandths) * (UNITS[unit] // timedelta(milliseconds=1))
        for whole, thousandths, unit in parts
    )
    if microseconds > LONGEST // timedelta(microseconds=1):
        with pytest.raises(InvalidOption, match="too long"):
            read(text)
    else:
        assert read(text) == timedelta(microseconds=microseconds)
