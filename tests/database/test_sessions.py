"""What roles and databases may be set to, and the package works all the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection

from django_durable.claim.claimer import Claimer
from django_durable.models import Limit, Queue
from tests.factories import ExecutorFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)
STYLES = ("postgres", "iso_8601", "sql_standard", "postgres_verbose")


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest) -> Iterator[str]:
    """A new session of a role with this style."""
    options = connection.settings_dict["OPTIONS"]
    before = dict(options)
    connection.close()
    options["options"] = f"-c IntervalStyle={request.param}"
    yield request.param
    connection.close()
    options.clear()
    options.update(before)


def session_style() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW IntervalStyle")
        return str(cursor.fetchone()[0])


@pytest.mark.usefixtures("style")
def test_limits_are_read_and_held_whatever_the_style_of_intervals():
    Queue.objects.set("default", rate_limit=2, rate_period=timedelta(days=1, seconds=1))
    Limit.objects.set("k", max_starts=1, per=90)
    for _ in range(3):
        echo.using(limit_key="k").enqueue(1)
    claimed = Claimer(ExecutorFactory.create().id, "default").claim("default", 3)
    assert len(claimed.runs) == 1
    assert Claimer(ExecutorFactory.create().id, "default").claim("default", 3).runs == []
    assert Queue.objects.get(name="default").rate_period == timedelta(days=1, seconds=1)
    assert Limit.objects.get(key="k").window == timedelta(seconds=90)


@pytest.mark.usefixtures("style")
def test_a_rollback_leaves_the_style():
    connection.settings_dict["AUTOCOMMIT"] = False
    try:
        connection.ensure_connection()
        connection.rollback()
        assert session_style() == "postgres"
    finally:
        connection.settings_dict["AUTOCOMMIT"] = True


def test_the_sessions_of_other_databases_are_left_as_they_are(settings, style):
    settings.DURABLE = {"DATABASE": "another"}
    assert session_style() == style
