"""Each statement on a big table rides on the indexes that its header names, whatever the statistics say.

In three states: with 100 000 rows and fresh statistics, and twice with a graveyard of claimed rows that a
held snapshot keeps in every index, while the statistics say that none stands in line, or, where they were
pruned after, that the table is as good as empty. On the wheel's PostgreSQL, and on this machine's own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from django_durable import sql
from tests.planned import EXPECTED, NOT_EXPLAINED
from tests.plans import BIG, HOW, STATES

ROOT = Path(__file__).resolve().parents[2]
FRESH = STATES[0]
KEYS = ("durable_workflow_status_pkey", "durable_limit_pkey", "durable_step_output_pkey")
NEVER_RUN = re.compile(r"-> +Sort [^>]*-> +Result [^>]*One-Time Filter: false")  # no row comes to be sorted
SERVERS = ["wheel", "system"]


@pytest.fixture(scope="module", params=SERVERS)
def plans(request) -> dict[str, dict[str, dict[str, Any]]]:
    """What the servers' plans are: state → statement → facts."""
    return plans_of(request.param)


def plans_of(server: str) -> dict[str, dict[str, dict[str, Any]]]:
    environ = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "DEVDB_BIN")}
    if server == "system":
        environ["DEVDB_BIN"] = "system"
    done = subprocess.run(
        [sys.executable, "-m", "tests.plans"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=170,
    )
    if server == "system" and "no PostgreSQL found" in done.stderr:
        pytest.skip("this machine has no PostgreSQL of its own")
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("statement", EXPECTED)
def test_a_statement_rides_on_the_indexes_of_its_header(plans, state, how, statement):
    facts = plans[state][statement + how]
    assert facts["indexes"] or EXPECTED[statement].inserts, facts["plan"]
    assert set(facts["indexes"]) <= promised(statement), facts["plan"]
    assert not re.search(rf"Seq Scan on (?:{'|'.join(BIG)})", facts["plan"]), facts["plan"]


def promised(statement: str) -> set[str]:
    """The indexes of the header, and the keys by which rows and limits are joined."""
    header = sql.statements()[statement].read_text().partition("--   locks")[0]
    return {*re.findall(r"durable_\w+", header), *KEYS, *EXPECTED[statement].instead}


def test_every_statement_on_a_big_table_is_explained():
    on_big_tables = {
        name for name in sql.statements() if any(re.search(rf"\b{big}\b", sql.load(name)) for big in BIG)
    }
    assert on_big_tables == EXPECTED.keys() | NOT_EXPLAINED.keys()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    ("statement", "state"),
    [
        (name, state)
        for name, wanted in EXPECTED.items()
        for state in STATES
        if not wanted.walks_graves or state == FRESH
    ],
)
def test_a_statement_touches_few_buffers(plans, state, how, statement):
    facts = plans[state][statement + how]
    assert facts["buffers"] <= EXPECTED[statement].buffers, facts["plan"]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("statement", [name for name, wanted in EXPECTED.items() if not wanted.sorts])
def test_a_statement_sorts_nothing(plans, state, how, statement):
    plan = plans[state][statement + how]["plan"]
    assert not re.search(r"\bSort\b", NEVER_RUN.sub("", plan)), plan
