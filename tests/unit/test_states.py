"""The table of verbs says one thing, and everything that reads it reads the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from django_durable import sql
from django_durable.core.states import (
    ACTIVE,
    BEGUN,
    FINAL,
    LABELS,
    PARKED,
    TRANSITIONS,
    Status,
    allows,
    sources,
)

COMPARED = re.compile(r"status (?:=|<>) '(\w*)'")
STATEMENTS = Path(str(sql.__file__)).parent


def test_every_status_is_active_or_final_and_has_a_word_of_its_own():
    assert set(Status) == ACTIVE | FINAL
    assert not ACTIVE & FINAL
    assert BEGUN < ACTIVE
    assert set(LABELS) == set(Status)
    assert len(set(LABELS.values())) == len(Status)


def test_what_ended_comes_back_only_by_an_order_from_outside():
    orders = {"cancel", "resume", "retry", "rewind"}
    assert {verb for verb, (origins, _) in TRANSITIONS.items() if origins & FINAL} == orders


def test_a_success_is_never_taken_back_but_by_a_rewind():
    assert [verb for verb in TRANSITIONS if allows(verb, Status.SUCCESS)] == ["rewind"]


def test_what_an_execution_writes_starts_from_running():
    for verb in ("release", "defer", "suspend", "complete", "fail", "park"):
        assert TRANSITIONS[verb][0] == {Status.PENDING}


@pytest.mark.parametrize("verb", TRANSITIONS)
@pytest.mark.parametrize("status", Status)
def test_allows_and_sources_agree(verb, status):
    assert allows(verb, status) == (status in sources(verb)) == (status in TRANSITIONS[verb][0])


def test_sources_are_the_same_parameter_each_time():
    assert sources("cancel") == sorted(ACTIVE | {PARKED})


def test_no_status_is_allowed_that_is_none():
    assert not allows("cancel", "NONSENSE")
    assert not allows("cancel", "")


def test_statements_name_no_status_that_the_table_lacks():
    texts = [path.read_text() for path in STATEMENTS.rglob("*.sql")]
    compared = {status for text in texts for status in COMPARED.findall(text)}
    assert {"PENDING", "ENQUEUED", "DELAYED"} <= compared <= set(Status)
