"""Lengths of time as a form takes them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError

from django_durable.admin.lengths import LengthField


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", None),
        ("90", timedelta(seconds=90)),
        ("1.5", timedelta(seconds=1.5)),
        ("1h30m", timedelta(minutes=90)),
        ("604800000ms", timedelta(days=7)),
        ("00:01:00", timedelta(minutes=1)),
        ("1 00:00:01", timedelta(days=1, seconds=1)),
        ("P1D", timedelta(days=1)),
        ("-60", timedelta(minutes=-1)),
    ],
)
def test_a_form_takes_what_people_write_and_what_django_takes(text, length):
    assert LengthField(required=False).clean(text) == length


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("soon", "'soon' is no length of time; write 30s, 1m, 1h30m or 1d."),
        ("1.1234567", "'1.1234567' is no whole number of microseconds; nothing finer is counted."),
        ("99999999d", "'99999999d' is too long; a length of time is 36525 days at most."),
        ("9" * 30, f"'{'9' * 30}' is too long; a length of time is 36525 days at most."),
    ],
)
def test_what_a_form_cannot_take_as_it_is_it_refuses_in_words(text, words):
    with pytest.raises(ValidationError) as refused:
        LengthField().clean(text)
    assert refused.value.messages == [words]
