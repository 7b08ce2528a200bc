"""Instances and Django's kinds of text on their way through a payload."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.functional import lazystr
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy, override

from django_durable import step, workflow
from django_durable.core.payloads.serialization import dumps, loads
from django_durable.exceptions import NotSerializable, ReferenceLost
from tests.drain import Drain
from tests.testapp.models import Ledger

pytestmark = pytest.mark.django_db


def passed(value: Any) -> Any:
    return loads(dumps(value, where="value", max_bytes=10_000))


def test_an_instance_comes_back_as_its_row_is_by_then() -> None:
    row = Ledger.objects.create(run_id="r", step="s", amount=1)
    back = passed(row)
    Ledger.objects.update(amount=7)
    assert isinstance(back, Ledger)
    assert (back.pk, back.amount) == (row.pk, 7)


def test_an_instance_is_not_fetched_before_it_is_looked_at(django_assert_num_queries) -> None:
    row = Ledger.objects.create(run_id="r", step="s")
    with django_assert_num_queries(0):
        back = passed({"row": row})
        again = passed(back)
    with django_assert_num_queries(1):
        assert again["row"].run_id == "r"


def test_a_deleted_row_is_missed_by_name_at_first_use() -> None:
    row = Ledger.objects.create(run_id="r", step="s")
    back = passed([row])
    row.delete()
    with pytest.raises(ReferenceLost, match=r"the testapp\.Ledger .* does not exist any more"):
        _ = back[0].amount


def test_an_instance_that_was_never_saved_is_refused_in_words() -> None:
    with pytest.raises(NotSerializable, match=r"save this testapp\.Ledger first"):
        passed(Ledger(run_id="r", step="s"))


def test_a_workflow_takes_and_returns_instances(drain: Drain) -> None:
    @step
    def double(entry: Ledger) -> Ledger:
        entry.amount *= 2
        entry.save()
        return entry

    @workflow(name="references.double")
    def body(entry: Ledger) -> int:
        return double(entry).amount

    run = body.enqueue(Ledger.objects.create(run_id="r", step="s", amount=4))
    drain()
    assert run.result() == 8


def test_safe_text_stays_safe_and_lazy_text_becomes_text() -> None:
    assert isinstance(passed(mark_safe("<b>")), SafeString)
    assert passed(lazystr("x")) == "x"
    with override("de"):
        stored = dumps(gettext_lazy("Yes"), where="value", max_bytes=100)
    assert loads(stored) == "Ja"
