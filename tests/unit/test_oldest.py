"""Counts from the oldest on against all in flight: random histories, and the rules they die without."""

from __future__ import annotations

import random

import pytest

from django_durable.core.planning import oldest as oldest_module
from django_durable.core.planning.oldest import FROM_NOTHING, Oldest

BUCKETS = "abc"
HISTORIES = 400
LENGTH = 120


class History:
    """One process that counts, and claims of others, which draw numbers and commit them in any order."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.oldest = Oldest()
        self.last = 0
        self.claims = 0
        self.open: dict[str, list[tuple[str, int]]] = {}  # by claim: the bucket and number of each row marked
        self.in_flight: list[tuple[str, int]] = []
        self.missed = 0

    def run(self) -> int:
        """How many runs in flight no count saw."""
        steps = [self.begin, self.draw, self.draw, self.commit, self.roll_back, self.end, self.end, self.look]
        for _ in range(LENGTH):
            self.dice.choice([*steps, self.count, self.count, self.count])()
            if self.dice.random() < 0.01:
                self.restore()
        return self.missed

    def begin(self) -> None:
        self.claims += 1
        self.open[f"claim {self.claims}"] = []

    def draw(self) -> None:
        if self.open:
            self.last += 1
            self._any_claim().append((self.dice.choice(BUCKETS), self.last))

    def commit(self) -> None:
        self.in_flight += self._leave()

    def roll_back(self) -> None:
        self._leave()

    def end(self) -> None:
        """The oldest more often than others, or nothing would ever be left behind."""
        if self.in_flight:
            self.in_flight.sort(key=lambda row: row[1])
            self.in_flight.pop(self.dice.choice([0, 0, self.dice.randrange(len(self.in_flight))]))

    def look(self) -> None:
        last = self.last
        self.dice.choice([self.draw, self.commit, self.begin])()
        self.oldest.look(last, {claim for claim, rows in self.open.items() if rows})

    def count(self) -> None:
        bucket = self.dice.choice(BUCKETS)
        numbers = [number for of_bucket, number in self.in_flight if of_bucket == bucket]
        found = [number for number in numbers if number >= self.oldest.of(bucket)]
        self.missed += len(numbers) - len(found)
        self.oldest.note(bucket, min(found, default=None))

    def restore(self) -> None:
        """From a backup: the sequence goes on from a lower number."""
        self.last, self.open, self.in_flight = self.dice.randint(0, max(self.last - 1, 0)), {}, []
        self.look()

    def _any_claim(self) -> list[tuple[str, int]]:
        return self.open[self.dice.choice(list(self.open))]

    def _leave(self) -> list[tuple[str, int]]:
        return self.open.pop(self.dice.choice(list(self.open))) if self.open else []


def test_a_count_from_the_oldest_on_misses_nothing():
    for seed in range(HISTORIES):
        assert History(seed).run() == 0, seed


def looks_at_numbers_alone(self, last, under_way):
    right_look(self, last, frozenset())


def takes_open_claims_for_over(self, last, under_way):
    right_look(self, last, under_way)
    self._over = last


def overlooks_a_sequence_set_back(self, last, under_way):
    right_look(self, max(last, self._last), under_way)


def goes_past_what_it_found(self, bucket, first):
    right_note(self, bucket, None)


def trusts_the_lowest_number_it_found(self, bucket, first):
    """What is in flight above the last number that is over may not be the lowest that will be seen there."""
    right_note(self, bucket, first)
    self._of[bucket] = first or self._of[bucket]


def looks_who_is_open_first(self):
    """What was drawn between the two looks is then taken for over."""
    under_way = {claim for claim, rows in self.open.items() if rows}
    self.draw()
    self.oldest.look(self.last, under_way)


right_look, right_note = Oldest.look, Oldest.note

MUTANTS = [
    (Oldest, "look", looks_at_numbers_alone),
    (Oldest, "look", takes_open_claims_for_over),
    (Oldest, "look", overlooks_a_sequence_set_back),
    (Oldest, "note", goes_past_what_it_found),
    (Oldest, "note", trusts_the_lowest_number_it_found),
    (History, "look", looks_who_is_open_first),
]


@pytest.mark.parametrize(("owner", "name", "wrong"), MUTANTS, ids=[wrong.__name__ for *_, wrong in MUTANTS])
def test_a_broken_rule_is_noticed(owner, name, wrong, monkeypatch):
    monkeypatch.setattr(owner, name, wrong)
    assert any(History(seed).run() for seed in range(HISTORIES))


def test_what_ended_is_left_behind_once_all_claims_before_are_over():
    oldest = Oldest()
    oldest.look(100, frozenset())
    oldest.note("a", None)
    oldest.note("b", 70)
    assert (oldest.of("a"), oldest.of("b"), oldest.of("c")) == (101, 70, FROM_NOTHING)


def test_claims_that_never_cease_do_not_hold_the_oldest_back():
    """One of a busy fleet is always under way; it is enough that those of the look before are over."""
    oldest = Oldest()
    for look in range(1, 10):
        oldest.look(look * 10, {f"claim {look}"})
        oldest.note("a", None)
    assert oldest.of("a") == 81


def test_a_claim_that_stays_open_holds_back_no_more_than_its_own_look():
    oldest = Oldest()
    oldest.look(10, frozenset())
    for look in range(2, 10):
        oldest.look(look * 10, {"claim"})
        oldest.note("a", None)
    assert oldest.of("a") == 11


def test_as_many_buckets_are_kept_as_fit(monkeypatch):
    monkeypatch.setattr(oldest_module, "MOST_BUCKETS", 3)
    oldest = Oldest()
    oldest.look(10, frozenset())
    for bucket in "abcd":
        oldest.note(bucket, None)
    assert [oldest.of(bucket) for bucket in "abcd"] == [FROM_NOTHING] * 3 + [11]
