"""When a poller asks out of turn, and how a fleet of them does not ask as one."""

from __future__ import annotations

import random

from django_durable.worker.polling.cadence import SOON
from django_durable.worker.polling.heat import HOT, LONGER, Heat
from django_durable.worker.polling.patience import LONGEST


def latest(low: float, high: float) -> float:
    return high


def earliest(low: float, high: float) -> float:
    return low


def answered(heat: Heat, now: float) -> float:
    """The instant at which a notice of now is answered."""
    heat.asks_again(now)  # what an answer before has left to ask
    heat.noticed(now)
    at = heat.next_at(now)
    assert heat.answers(at)
    return at


def test_the_first_notice_and_the_one_after_a_find_are_answered_at_once():
    heat = Heat(latest)
    assert answered(heat, 1.0) == 1.0
    assert answered(heat, 2.0) > 2.0
    heat.found(3.0)
    assert answered(heat, 4.0) == 4.0


def test_each_answer_in_vain_lets_the_next_notice_wait_longer_but_never_for_long():
    heat = Heat(latest)
    waits = [answered(heat, float(now)) - now for now in range(0, 100, 10)]
    assert waits == sorted(waits)
    assert waits[1] > SOON / 2
    assert waits[-1] == LONGEST


def test_the_more_workers_there_are_the_longer_a_notice_may_wait_but_no_longer_than_a_second():
    longest = []
    for workers in (1, 12, 25, 50, 500):
        heat = Heat(latest)
        heat.among(workers)
        longest.append(max(answered(heat, float(now)) - now for now in range(0, 100, 10)))
    assert longest == [LONGEST, LONGEST, 0.5, 1.0, 1.0]


def test_notices_that_come_while_one_waits_neither_hasten_nor_delay_it():
    heat = Heat(latest)
    answered(heat, 0.0)
    assert heat.asks_again(1.0)
    heat.noticed(1.0)
    at = heat.next_at(1.0)
    heat.patience.between = earliest
    heat.noticed(1.001)
    assert heat.next_at(1.001) == at > 1.001


def test_after_an_answer_in_vain_it_asks_once_more():
    heat = Heat(latest)
    answered(heat, 1.0)
    again = heat.next_at(1.0)
    assert 1.0 + SOON <= again <= 1.0 + HOT
    assert not heat.asks_again(again - 0.001)
    assert heat.asks_again(again)
    assert heat.next_at(again) == float("inf")


def test_while_work_is_found_it_asks_quickly_and_cools_down_after_the_last():
    heat = Heat(latest)
    heat.found(1.0)
    assert heat.asks_again(1.0)
    assert not heat.asks_again(1.0 + SOON / 2)
    assert heat.asks_again(1.0 + SOON)
    assert not heat.asks_again(1.0 + HOT)


def test_the_more_workers_there_are_the_less_quickly_each_asks_while_work_is_found():
    asked = []
    for workers in (1, 5, 50):
        heat = Heat(latest)
        heat.among(workers)
        heat.found(1.0)
        asked.append(sum(heat.asks_again(1.0 + SOON / 2 * step) for step in range(21)))
    assert asked[0] == asked[1] >= 10
    assert asked[2] == 2


def test_of_fifty_workers_who_hear_each_notice_some_are_prompt_and_all_together_ask_a_few_times():
    draw = random.Random(7)
    fleet = [Heat(draw.uniform) for _ in range(50)]
    notices = [number * 0.2 for number in range(100)]
    asked, delays = 0, []
    for notice, until in zip(notices, [*notices[1:], notices[-1] + 0.2], strict=True):
        answers = []
        for heat in fleet:
            heat.noticed(notice)
            asked += questions(heat, notice, until, answers)
        delays.append(min(answers) - notice)
    assert max(delays) < LONGEST / 5
    assert asked < 2 * len(fleet) * len(notices)


def questions(heat: Heat, start: float, end: float, answers: list[float]) -> int:
    """How often it asks in that time, finding nothing; `answers` gets the instants of those to notices."""
    count, now = 0, start
    while (now := max(heat.next_at(now), start)) < end:
        if heat.answers(now):
            answers.append(now)
            count += 1
        elif heat.asks_again(now):
            count += 1
    return count


def test_the_second_question_comes_the_later_the_more_were_in_vain():
    heat = Heat(latest)
    ats = [answered(heat, float(now)) for now in range(0, 100, 10)]
    at = ats[-1]
    assert heat.next_at(at) - at == HOT + LONGER * LONGEST
