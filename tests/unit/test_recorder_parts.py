"""The parts of the recorder that need no database: what is set aside, and columns as arrays."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import adapters
from psycopg.adapt import Transformer
from psycopg.pq import Format

from django_durable.core.arrays import plain_array, text_array
from django_durable.worker.writing.aside import LONGEST, SHORTEST, Aside


class TestAside:
    @pytest.fixture
    def aside(self) -> Aside[str]:
        return Aside()

    def test_what_is_put_there_comes_back_in_order_once_it_is_due(self, aside):
        for write in ("a1", "a2"):
            aside.put("a", write, 0.0)
        assert aside.take(SHORTEST / 2) == []
        assert aside.take(SHORTEST) == ["a1", "a2"]
        assert len(aside) == 0

    def test_a_later_write_waits_behind_and_delays_nothing(self, aside):
        aside.put("a", "a1", 0.0)
        aside.put("a", "a2", SHORTEST / 2)
        assert aside.rest(0.0) == SHORTEST

    def test_the_pause_grows_with_each_try_up_to_its_longest(self, aside):
        now, pauses = 0.0, []
        for _ in range(10):
            aside.put("a", "a1", now)
            pauses.append(aside.rest(now))
            now += pauses[-1] + 1e-9
            assert aside.take(now) == ["a1"]
        assert pauses[:3] == pytest.approx([SHORTEST, SHORTEST * 2, SHORTEST * 4])
        assert pauses[-1] == pytest.approx(LONGEST)

    def test_each_has_its_own_pause(self, aside):
        for now in (0.0, 1.0, 2.0):
            aside.put("a", "a1", now)
            aside.take()
        aside.put("a", "a1", 3.0)
        aside.put("b", "b1", 3.0)
        assert aside.rest(3.0) == pytest.approx(SHORTEST)

    def test_a_row_that_was_free_is_forgotten(self, aside):
        aside.put("a", "a1", 0.0)
        aside.take()
        aside.forget("a")
        assert not aside
        assert aside.rest(0.0) == math.inf

    def test_but_not_while_others_wait_for_it(self, aside):
        aside.put("a", "a1", 0.0)
        aside.forget("a")
        assert aside.holds("a")


class TestArrays:
    @given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
    def test_text_comes_back_as_it_was(self, values):
        assert _parsed(text_array(values)) == values

    def test_numbers_need_no_quotes(self):
        assert plain_array([1, 2.5]) == "{1,2.5}"

    def test_the_word_for_nothing_stays_a_word(self):
        assert text_array(["NULL", None, ""]) == '{"NULL",NULL,""}'


def _parsed(literal: str) -> list[str | None]:
    """As the driver reads what a server writes."""
    loader = Transformer().get_loader(adapters.types["text"].array_oid, Format.TEXT)
    return list(loader.load(literal.encode()))
