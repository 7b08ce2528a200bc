"""Options are checked when they are said, kept as one value, and never changed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_durable.core.options import EARLIEST, LATEST, LONGEST, Options, duration
from django_durable.exceptions import InvalidOption


def test_what_is_not_said_is_left_to_the_function_and_the_queue():
    said = {field.name for field in fields(Options) if getattr(Options(), field.name) is not None}
    assert said & {"queue", "priority", "timeout", "max_attempts", "limit_key", "app_version"} == set()


def test_a_change_is_a_copy():
    first = Options(priority=1, queue="mail")
    second = first.changed(priority=2)
    assert (first.priority, second.priority, second.queue) == (1, 2, "mail")
    with pytest.raises(FrozenInstanceError):
        first.priority = 3  # type: ignore[misc]


def test_an_option_can_be_taken_back():
    assert Options(delay=5).changed(delay=None, run_at=datetime(2100, 1, 1, tzinfo=UTC)).delay is None


@given(st.floats(min_value=0, max_value=LONGEST.total_seconds()))
def test_seconds_and_timedeltas_say_the_same(seconds):
    assert duration("delay", seconds) == timedelta(seconds=seconds)


@given(st.datetimes(EARLIEST.replace(tzinfo=None), LATEST.replace(tzinfo=None), timezones=st.timezones()))
def test_an_instant_stays_the_instant_it_is_in_whatever_zone(instant):
    if EARLIEST <= instant <= LATEST:
        kept = Options(run_at=instant).run_at
        assert kept == instant.astimezone(UTC)
        assert kept.tzinfo is UTC


@given(st.one_of(st.datetimes(), st.datetimes(timezones=st.timezones())))
def test_no_instant_does_anything_but_pass_or_be_refused_in_words(instant):
    sound = instant.utcoffset() is not None and EARLIEST <= instant <= LATEST
    with nullcontext() if sound else pytest.raises(InvalidOption, match="deadline"):
        Options(deadline=instant)


@pytest.mark.parametrize("edge", [EARLIEST, LATEST])
def test_the_widest_instants_can_be_said_from_any_zone(edge):
    for zone in ("Pacific/Kiritimati", "Pacific/Niue"):
        assert Options(run_at=edge.astimezone(ZoneInfo(zone))).run_at == edge
    beyond = timedelta(seconds=1) if edge is LATEST else timedelta(seconds=-1)
    with pytest.raises(InvalidOption, match="between the years"):
        Options(run_at=edge + beyond)


def test_attributes_are_any_mapping_of_texts_to_plain_values():
    assert Options(attributes={"a": [1, {"b": None}]}).attributes == {"a": [1, {"b": None}]}
