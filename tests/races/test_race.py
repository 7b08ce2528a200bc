"""The instrument itself: it tells a side that is blocked from one that is not."""

from __future__ import annotations

import pytest

from tests.factories import QueueFactory
from tests.races.executions import cancel, running, status
from tests.testapp.models import Ledger


def write():
    return Ledger.objects.create(run_id="w", step="a").pk


def test_a_side_that_is_not_blocked_fails_its_test(race):
    running()
    with race.holding(write), pytest.raises(AssertionError, match="it was not blocked"):
        race.blocked(cancel)


def test_what_a_side_holds_is_seen_by_nobody_until_it_commits(race):
    with race.holding(write):
        assert race.side().do(Ledger.objects.count) == 0
    assert Ledger.objects.count() == 1
    with race.holding(write, commits=False):
        pass
    assert Ledger.objects.count() == 1


def test_each_side_is_a_session_of_its_own(race):
    assert race.side().pid != race.side().pid


def test_an_error_of_a_held_call_ends_its_transaction(race):
    QueueFactory(name="q")
    with pytest.raises(Exception, match="already exists"), race.holding(QueueFactory, name="q"):
        pass
    running()
    assert status() == "PENDING"
