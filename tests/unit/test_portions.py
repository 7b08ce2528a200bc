"""Rows in portions: none gets lost or changes its place, and each portion is as small as it has to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from django_durable.core.portions import CHARACTERS_A_STATEMENT, ROWS_A_STATEMENT, portions

sizes = st.lists(st.integers(0, 2 * CHARACTERS_A_STATEMENT))


@given(sizes)
def test_all_come_in_their_order_and_only_the_last_of_a_portion_goes_beyond_its_length(rows):
    found = list(portions(rows, lambda size: size))
    assert [row for portion in found for row in portion] == rows
    assert all(sum(portion[:-1]) < CHARACTERS_A_STATEMENT for portion in found)


def test_so_many_rows_are_one_portion_and_no_more():
    found = list(portions(range(ROWS_A_STATEMENT + 1), lambda row: 0))
    assert [len(portion) for portion in found] == [ROWS_A_STATEMENT, 1]
