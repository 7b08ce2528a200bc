"""The setting DURABLE is one value: read once, whole, and again when it changes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_durable.conf import FINAL_STATUSES, KEYS, Settings
from django_durable.conf import settings as durable
from django_durable.core.states import FINAL


def test_it_is_read_once_until_it_changes(settings):
    settings.DURABLE = {"LEASE": 60}
    assert durable().lease == 60
    assert durable() is durable()
    settings.DURABLE = {"LEASE": 90}
    assert durable().lease == 90


def test_a_project_need_not_have_it(settings):
    del settings.DURABLE
    assert durable() == Settings()


def test_it_cannot_be_changed_in_passing(settings):
    with pytest.raises(FrozenInstanceError):
        durable().lease = 1  # type: ignore[misc]


def test_a_value_that_was_refused_is_refused_again_and_a_right_one_is_taken(settings):
    settings.DURABLE = {"LEASE": 0}
    for _ in range(2):
        with pytest.raises(ImproperlyConfigured):
            durable()
    settings.DURABLE = {}
    assert durable().lease == 30


def test_every_field_has_its_key_in_capitals():
    assert {key.lower() for key in KEYS} == {field.name for field in fields(Settings)}


def test_the_lease_is_renewed_three_times():
    assert Settings(lease=30).heartbeat_interval == 10


def test_the_statuses_that_can_be_pruned_are_those_that_are_final():
    assert set(FINAL_STATUSES) == FINAL


@pytest.mark.parametrize(
    "retention", [{"SUCCESS": 0}, {"ERROR": None}, dict.fromkeys(FINAL_STATUSES, 86_400.5)]
)
def test_a_retention_is_seconds_or_for_ever(retention):
    assert Settings(retention=retention).retention == retention


def test_several_faults_are_told_one_at_a_time_and_none_is_let_through():
    with pytest.raises(ImproperlyConfigured, match="LEASE"):
        Settings(lease=0, cursors="sometimes")
    with pytest.raises(ImproperlyConfigured, match="CURSORS"):
        Settings(cursors="sometimes")
