"""What `manage.py check` tells of a project that could not run workflows, or would run them badly."""

from __future__ import annotations

import sys

import pytest
from django.core.checks import Tags, run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connections
from django.test import override_settings

from django_durable import checks
from django_durable.conf import LARGEST_PAYLOAD


def told():
    return run_checks(tags=[checks.TAG])


def ids():
    return [message.id for message in told()]


def test_a_sound_project_is_told_nothing():
    assert told() == []


def test_the_checks_run_with_all_others(settings):
    settings.DURABLE = {"LEESE": 1}
    with pytest.raises(SystemCheckError, match=r"durable\.E003"):
        call_command("check")


@pytest.mark.parametrize(
    ("durable", "part"),
    [
        ({"LEESE": 30}, "did you mean 'LEASE'?"),
        ({"lease": 30}, "did you mean 'LEASE'?"),
        ({"ZZZ": 1}, "known keys: APP_VERSION"),
        ([], "must be a dict"),
        ({"LEASE": 0}, "['LEASE'] must be a number of seconds"),
        ({"LEASE": float("nan")}, "['LEASE']"),
        ({"LEASE": float("inf")}, "['LEASE']"),
        ({"LEASE": "30"}, "['LEASE']"),
        ({"LEASE": True}, "['LEASE']"),
        ({"POLL_INTERVAL": 0}, "['POLL_INTERVAL']"),
        ({"POLL_INTERVAL": -1}, "['POLL_INTERVAL']"),
        ({"SUSPEND_AFTER": -1}, "['SUSPEND_AFTER']"),
        ({"CURSORS": "sometimes"}, "['CURSORS'] must be one of"),
        ({"CURSORS": []}, "['CURSORS'] must be one of"),
        ({"NOTIFY": 1}, "['NOTIFY'] must be True or False"),
        ({"MAX_PAYLOAD": 0}, "['MAX_PAYLOAD']"),
        ({"MAX_PAYLOAD": LARGEST_PAYLOAD + 1}, "at most 134217728"),
        ({"MAX_RECOVERY_ATTEMPTS": 1.5}, "['MAX_RECOVERY_ATTEMPTS']"),
        ({"APP_VERSION": " "}, "['APP_VERSION']"),
        ({"SERIALIZER": None}, "['SERIALIZER'] must be a dotted path"),
        ({"SERIALIZER": "nowhere.to.be_found"}, "nowhere"),
        ({"REDACT": "tests.testapp.workflows.nothing"}, "nothing"),
        ({"CONTEXT": "a.b"}, "['CONTEXT'] must be a list"),
        ({"CONTEXT": ["nowhere.to.be_found"]}, "nowhere"),
        ({"RETENTION": {"PENDING": 5}}, "['RETENTION'] knows SUCCESS"),
        ({"RETENTION": {"SUCCESS": -5}}, "['RETENTION']['SUCCESS']"),
        ({"RETENTION": 5}, "['RETENTION'] must map"),
        ({"QUEUES": 5}, "['QUEUES'] must map"),
        ({"QUEUES": {"mail": {"concurency": 1}}}, "did you mean 'concurrency'?"),
        ({"QUEUES": {"mail": {"polling_interval": float("nan")}}}, "['polling_interval']"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_used_is_named_with_what_is_wrong(settings, durable, part):
    settings.DURABLE = durable
    (message,) = told()
    assert message.id == "durable.E003"
    assert part in message.msg
    assert message.hint


def test_another_database_than_postgresql_is_an_error(settings, monkeypatch):
    lite = {**settings.DATABASES["default"], "ENGINE": "django.db.backends.sqlite3", "OPTIONS": {}}
    monkeypatch.setitem(settings.DATABASES, "lite", lite)
    settings.DURABLE = {"DATABASE": "lite"}
    (message,) = told()
    del connections["lite"]
    assert message.id == "durable.E001"
    assert "'lite' is SQLite" in message.msg
    assert "DURABLE['DATABASE']" in message.hint


@pytest.mark.parametrize("key", ["DATABASE", "LISTEN_DATABASE"])
def test_a_database_that_does_not_exist_is_named_with_those_that_do(settings, key):
    settings.DURABLE = {key: "nowhere"}
    (message,) = told()
    assert message.id == "durable.E004"
    assert "'nowhere'" in message.msg
    assert "default" in message.msg


def test_psycopg_2_or_none_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    (message,) = told()
    assert message.id == "durable.E002"
    assert "pip install" in message.hint


@pytest.mark.parametrize(("version", "is_enough"), [("3.1.18", False), ("3.2", True), ("4.0.0.dev1", True)])
def test_a_psycopg_too_old_is_an_error(monkeypatch, version, is_enough):
    monkeypatch.setattr("psycopg.__version__", version)
    assert ids() == ([] if is_enough else ["durable.E002"])


@pytest.mark.parametrize(
    ("durable", "warned"),
    [
        ({"LEASE": 30, "POLL_INTERVAL": 30}, ["durable.W001"]),
        ({"LEASE": 30, "POLL_INTERVAL": 29}, []),
        ({"LEASE": 4}, ["durable.W002"]),
        ({"LEASE": 5}, []),
        ({"LEASE": 1, "POLL_INTERVAL": 5}, ["durable.W001", "durable.W002"]),
        ({"LEASE": 30, "QUEUES": {"slow": {"polling_interval": 30}}}, ["durable.W001"]),
        ({"LEASE": 30, "QUEUES": {"slow": {"polling_interval": 29}}}, []),
    ],
    ids=str,
)
def test_values_that_do_not_fit_together_are_warned_of(settings, durable, warned):
    settings.DURABLE = durable
    assert ids() == warned


@pytest.mark.django_db
class TestTheServer:
    def test_one_that_is_new_enough_is_told_nothing(self):
        assert self.told(["default"]) == []

    def test_one_that_is_too_old_is_an_error(self, monkeypatch):
        monkeypatch.setattr(connections["default"], "pg_version", 130_012)
        (message,) = self.told(["default"])
        assert message.id == "durable.E005"
        assert "version 13" in message.msg

    def test_none_is_asked_that_was_not_named(self, monkeypatch):
        monkeypatch.setattr(connections["default"], "pg_version", 130_012)
        assert self.told([]) == []

    def told(self, databases):
        messages = run_checks(tags=[Tags.database], databases=databases)
        return [message for message in messages if str(message.id).startswith("durable.")]


@pytest.mark.parametrize("path", ["json.dumps", "os", "no.where"])
def test_a_serializer_that_is_none_is_named_by_its_key(path):
    with override_settings(DURABLE={"SERIALIZER": path}):
        (found,) = [message for message in run_checks() if message.id == "durable.E003"]
    assert "DURABLE['SERIALIZER']" in found.msg
