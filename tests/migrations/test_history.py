"""The migrations alone make the tables, take them away, and make them again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from example_project.database import database

ENQUEUE = "from tests.testapp.workflows import echo; echo.using(id='elsewhere').enqueue()"
RUN_AND_DELAY = """
from datetime import UTC, datetime
from tests.drain import Drain
from tests.testapp.workflows import echo
echo.using(id="late", run_at=datetime(2100, 1, 1, tzinfo=UTC)).enqueue()
echo.using(id="soon", delay=60).enqueue()
due = echo.using(expires_in=60).enqueue("due")
Drain()()
print(repr(due.result()), due.record.completed_at)
"""
ROWS = "SELECT (SELECT count(*) FROM durable_workflow_status), (SELECT count(*) FROM durable_step_output)"
INSERT_RUN = """
INSERT INTO durable_workflow_status
    (id, name, status, queue, priority, attempt, max_attempts, claims, created_at, updated_at, completed_at,
     input, serialization, attributes, headers, awaited)
VALUES ('a', 'a', 'SUCCESS', 'default', 0, 0, 1, 0, now(), now(), now(), '[]', 'json', '{}', '{}', false)
"""


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"DEFAULT_AUTO_FIELD": "django.db.models.AutoField"},
        {"USE_TZ": False},
        {"LANGUAGE_CODE": "de", "USE_I18N": True},
        {"TIME_ZONE": "Pacific/Auckland"},
        {"DURABLE": {"QUEUES": {"mail": {"concurrency": 2}}}},
    ],
    ids=lambda overrides: ",".join(overrides) or "plain",
)
def test_no_project_gets_a_migration_of_its_own_to_make(migrated, overrides):
    assert "No changes detected in app 'durable'" in migrated.manage(
        "makemigrations", "durable", "--check", "--dry-run", **overrides
    )


def test_what_migrating_to_zero_took_away_comes_back(migrated):
    tables = migrated.tables()
    with migrated.connect() as connection:
        connection.execute(INSERT_RUN)
    migrated.manage("migrate", "durable", "zero")
    assert migrated.tables() == set()
    migrated.manage("migrate", "durable")
    assert migrated.tables() == tables
    with migrated.connect() as connection:
        assert connection.execute("SELECT name FROM durable_queue").fetchall() == [("default",)]
        assert connection.execute(ROWS).fetchone() == (0, 0)


def test_two_processes_that_migrate_at_once_leave_the_tables_whole(empty):
    empty.manage("migrate", "contenttypes", "--verbosity=0")
    both = [empty.start("migrate", "durable"), empty.start("migrate", "durable")]
    said = [process.communicate()[0] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 0], [0, 1]), said
    assert "No migrations to apply" in empty.manage("migrate", "durable")
    assert "No changes detected" in empty.manage("makemigrations", "durable", "--check", "--dry-run")
    with empty.connect() as connection:
        assert connection.execute("SELECT count(*) FROM durable_queue").fetchone() == (1,)


def test_a_migration_that_meets_a_long_transaction_gives_up_within_seconds(migrated):
    with migrated.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE durable_workflow_status IN ROW SHARE MODE")
        process = migrated.start("migrate", "durable", "zero")
        said, _ = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "LockNotAvailable" in said
    assert "[X] 0001_initial" in migrated.manage("showmigrations", "durable")
    assert migrated.tables()


def test_the_tables_go_where_the_router_sends_them(empty, migrated):
    elsewhere = {
        "DATABASES": {"default": database(empty.url), "durable": database(migrated.url)},
        "DATABASE_ROUTERS": ["tests.migrations.routers.OwnDatabase"],
        "DURABLE": {"DATABASE": "durable"},
    }
    empty.manage("migrate", "--verbosity=0", **elsewhere)
    empty.manage("migrate", "--database=durable", "--verbosity=0", **elsewhere)
    empty.manage("shell", "--verbosity=0", "-c", ENQUEUE, **elsewhere)
    assert empty.tables() == set()
    with migrated.connect() as connection:
        assert connection.execute("SELECT id FROM durable_workflow_status").fetchall() == [("elsewhere",)]


def test_a_project_without_time_zones_stores_the_instants_that_others_do(empty):
    naive = {"USE_TZ": False, "TIME_ZONE": "Asia/Kolkata"}
    empty.manage("migrate", "--verbosity=0", **naive)
    said = empty.manage("shell", "--verbosity=0", "-c", RUN_AND_DELAY, **naive)
    assert "'due'" in said
    with empty.connect() as connection:
        instants = connection.execute(
            "SELECT delay_until = '2100-01-01 00:00+00', delay_until - created_at FROM durable_workflow_status"
            " WHERE id IN ('late', 'soon') ORDER BY id"
        ).fetchall()
    assert instants[0][0]
    assert instants[1][1] == timedelta(seconds=60)
