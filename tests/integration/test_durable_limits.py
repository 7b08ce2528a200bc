"""`manage.py durable_limits`: what it shows, sets and clears, and what it says where it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from django_durable.management.table import table
from django_durable.models import Limit
from tests.drain import Drain
from tests.factories import QueueFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[2]


class Terminal(StringIO):
    def isatty(self):
        return True


def durable_limits(*arguments, stdout=None):
    out = stdout or StringIO()
    call_command("durable_limits", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def in_use(db):
    """Of `stripe` two run, one starts no more and three wait."""
    Limit.objects.set("stripe", max_running=2, max_starts=2, per=timedelta(hours=1))
    Limit.objects.set("mail", max_running=5)
    QueueFactory(name="other")
    for queue in ("default", "other"):
        echo.using(limit_key="stripe", queue=queue).enqueue_many([((n,), {}) for n in range(3)])
    drain = Drain()
    assert [len(drain.claim(queue, slots=1)) for queue in ("default", "other")] == [1, 1]


def test_the_list_is_a_table_of_limits_and_what_is_in_use_of_them(in_use):
    assert durable_limits("list").splitlines() == [
        "key     running  max  starts  max  within  waiting",
        "mail          0    5       -    -  -             0",
        "stripe        2    2       2    2  1 h           4",
    ]


def test_only_the_keys_asked_for_are_shown_and_a_missing_one_is_named(in_use):
    assert "mail" not in durable_limits("list", "stripe")
    out = StringIO()
    with pytest.raises(CommandError, match="no limit of nothing"):
        durable_limits("list", "stripe", "nothing", stdout=out)
    assert "stripe" in out.getvalue()


def test_the_list_as_json_holds_numbers(in_use):
    assert json.loads(durable_limits("list", "--format", "json")) == [
        {"key": "mail", "max_running": 5, "running": 0, "max_starts": None, "window": None, "starts": 0}
        | {"waiting": 0},
        {"key": "stripe", "max_running": 2, "running": 2, "max_starts": 2, "window": 3600.0, "starts": 2}
        | {"waiting": 4},
    ]


def test_without_limits_the_list_says_so():
    assert durable_limits("list") == "No key has a limit.\n"
    assert durable_limits("list", "--format", "json") == "[]\n"


def test_colours_are_for_terminals(in_use, monkeypatch):
    monkeypatch.setenv("DJANGO_COLORS", "dark")
    assert "\x1b" not in durable_limits("list")
    with monkeypatch.context() as patch:
        patch.setattr("django.core.management.color.supports_color", lambda: True)
        assert "\x1b[" in durable_limits("list", stdout=Terminal())


def test_a_limit_is_set_edited_and_cleared():
    assert durable_limits("set", "stripe", "--running", "3") == "stripe: 3 running\n"
    told = durable_limits("set", "stripe", "--starts", "100", "--per", "1m30s")
    assert told == "stripe: 3 running, 100 starts in 1 min 30 s\n"
    assert durable_limits("set", "stripe", "--running", "none") == "stripe: 100 starts in 1 min 30 s\n"
    limit = Limit.objects.get()
    assert (limit.max_running, limit.max_starts, limit.window) == (None, 100, timedelta(seconds=90))
    assert durable_limits("clear", "stripe") == "stripe: unlimited from the next claim\n"
    assert durable_limits("clear", "stripe") == "stripe: had no limit\n"
    assert not Limit.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stripe"], "say what to set: --running N, or --starts N --per 1m, or both"),
        (["stripe", "--running=0"], "limit 'stripe': max_running must be a whole number from 1"),
        (["stripe", "--running=1.5"], "--running takes a whole number from 1, or none; it is '1.5'"),
        (["stripe", "--running="], "--running takes a whole number"),
        (["stripe", "--running", "9" * 5000], "--running takes a whole number"),
        (["stripe", "--starts=5"], "A rate needs both"),
        (["stripe", "--starts=5", "--per=soon"], "'soon' is no length of time; write 30s, 1m"),
        (["stripe", "--starts=5", "--per=0"], "must be longer than nothing"),
        (
            ["stripe", "--starts=5", "--per=99999999d"],
            "'99999999d' is too long; a length of time is 36525 days",
        ),
        (["stripe", "--starts=5", "--per=0.0000001s"], "'0.0000001s' is no whole number of microseconds"),
        (["stripe", "--running=none"], "Give max running, or max starts with a window"),
        ([" ", "--running=1"], "limit key"),
        (["stripe", "--running=1", "--database=nowhere"], "DATABASES has no 'nowhere'; it has default"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_in_words(arguments, words):
    with pytest.raises(CommandError) as refused:
        durable_limits("set", *arguments)
    assert words in str(refused.value)
    assert refused.value.returncode == 1
    assert not Limit.objects.exists()


def test_a_database_without_the_tables_is_told_in_one_line():
    with connections["default"].cursor() as cursor:
        cursor.execute("ALTER TABLE durable_limit RENAME TO elsewhere")
    with pytest.raises(CommandError, match=r"^the database did not do it: relation .* does not exist$"):
        durable_limits("list")


MANY_LIMITS = """
import sys
import django
from django.core.management import execute_from_command_line
django.setup()
from django_durable.models.limit import LimitInUse, LimitQuerySet
limits = [LimitInUse(f"key{n}", 1, 0, None, None, 0, 0) for n in range(%d)]
LimitQuerySet.in_use = lambda self, keys=None: limits
execute_from_command_line(["manage.py", "durable_limits", "list", "--format", %r])
"""


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("count", [5, 5000], ids=["one buffer", "many"])
def test_a_reader_that_leaves_is_no_error(form, count):
    reads, writes = os.pipe()
    os.close(reads)
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-c", MANY_LIMITS % (count, form)]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, env=environ, cwd=ROOT)
    os.close(writes)
    assert (done.stderr, done.returncode) == (b"", 141)


def test_a_table_is_straight_whatever_is_in_it():
    lines = table(["key", "n"], [["日本", 5], ["e\u0301", None], ["\x1b[2J\n", 100]])
    assert lines == [
        f"key{' ' * 10}n",
        f"日本{' ' * 9}5",
        f"e\u0301{' ' * 12}-",
        "\\x1b[2J\\n  100",
    ]
    assert table(["key", "n"], []) == ["key  n"]
