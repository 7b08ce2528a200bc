"""What stopped a claim, in words."""

from __future__ import annotations

import pytest

from django_durable.core.planning.stops import NAMED, StoppedBy

NOTHING = StoppedBy(line_ended=False, slots=False, queue=False, partitions=(), limit_keys=())


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ({"line_ended": True, "queue": True}, ""),
        ({}, ""),
        ({"slots": True, "queue": True}, "the slots of the worker, the limits of the queue"),
        ({"partitions": (None, "a")}, "partitions none, 'a'"),
        ({"limit_keys": ("k",)}, "limit key 'k'"),
        ({"limit_keys": tuple("abcdefg")}, "limit keys 'a', 'b', 'c', 'd', 'e' and 2 more"),
    ],
)
def test_it_names_what_held_rows_back(stopped, words):
    assert NAMED == 5
    assert NOTHING._replace(**stopped).in_words == words
