"""Where the tables live, what time it is there, and how a statement of sql/ is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.db import Error, connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import TransactionManagementError

from django_durable import sql
from django_durable.conf import settings
from django_durable.models.plans import plans, says_lost, unplanned
from django_durable.models.sending import UNSORTED, compose, parameters

Asked = tuple[str, Mapping[str, Any]]  # a statement, by its name, and its parameters


class Clock(models.Func):
    """The database's clock at this moment; unlike `Now` it moves within a transaction."""

    template = "clock_timestamp()"
    output_field = models.DateTimeField()


class Seconds(models.Func):
    """A length as so many seconds: days of it would follow the clocks of the session's time zone."""

    template = "make_interval(secs => extract(epoch FROM %(expressions)s)::float8)"
    arity = 1
    output_field = models.DurationField()


def alias() -> str:
    """The one database alias that every read and write of the package uses."""
    return settings().database or router.db_for_write(apps.get_model("durable", "WorkflowStatus"))


def is_storable(text: str) -> bool:
    """Whether a text column can hold it at all: no row can have an id that is not."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:  # half a character
        return False


def fetch(name: str, params: Mapping[str, Any], using: str) -> list[tuple[Any, ...]]:
    """Run the statement `name` and return its rows."""
    return fetch_all([(name, params)], using)[0]


def fetch_all(asked: Sequence[Asked], using: str) -> list[list[tuple[Any, ...]]]:
    """Run statements one after the other, each with its own snapshot, in one round trip where that can be."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if _binds_on_the_server(connection):
            return [_send_alone(name, params, cursor) for name, params in asked]
        answers = _send(asked, cursor, connection)
        with connection.wrap_database_errors:
            return list(_rows(cursor.cursor, answers))


def change(name: str, params: Mapping[str, Any], using: str) -> int:
    """Run the statement `name` and return how many rows it changed."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if _binds_on_the_server(connection):
            cursor.execute(sql.load(name), params)
            return int(cursor.rowcount)
        (answer,) = _send([(name, params)], cursor, connection)
        for _ in range(answer):
            cursor.nextset()
        return int(cursor.rowcount)


def _send(asked: Sequence[Asked], cursor: Any, connection: BaseDatabaseWrapper) -> tuple[int, ...]:
    """Send them in one text, planned once for a while where that can be; tells which answers are theirs."""
    known = plans(connection)
    names = tuple(name for name, _ in asked)
    params = parameters(params for _, params in asked)
    is_transaction = connection.get_autocommit()
    uses_plans = True
    try:
        with connection.wrap_database_errors:
            texts = known.texts(names)
        uses_plans = texts.uses_plans
        sending = compose(names, texts, is_transaction=is_transaction)
        cursor.execute(sending.text, params)
    except Error as error:
        if not (uses_plans and says_lost(error)) or not known.begin_anew(error):
            raise
        sending = compose(names, unplanned(names), is_transaction=is_transaction)
        cursor.execute(sending.text, params)
    return sending.answers


def _send_alone(name: str, params: Mapping[str, Any], cursor: Any) -> list[tuple[Any, ...]]:
    """Outside a transaction, sorts are forbidden in vain."""
    if name in UNSORTED:
        cursor.execute(sql.load("forbid_sorts"))
    cursor.execute(sql.load(name), params)
    rows = cursor.fetchall() if cursor.description else []
    if name in UNSORTED:
        cursor.execute(sql.load("allow_sorts"))
    return rows


def _rows(cursor: Any, answers: Sequence[int]) -> Iterator[list[tuple[Any, ...]]]:
    """All answers are here: so they are read from the driver's own cursor, which Django need not watch."""
    for place in range(answers[-1] + 1):
        if place:
            cursor.nextset()
        if place in answers:
            yield cursor.fetchall() if cursor.pgresult.nfields else []


def sends_together(using: str) -> bool:
    """Whether several statements are sent in one text; alone it is a transaction."""
    return not _binds_on_the_server(connections[using])


def _binds_on_the_server(connection: BaseDatabaseWrapper) -> bool:
    """Then the protocol takes one statement at a time."""
    return connection.settings_dict.get("OPTIONS", {}).get("server_side_binding") is True


def refuse_undone(what: str, using: str) -> None:
    """Raise if a receiver of `transition` left what can only be rolled back; COMMIT would not say so."""
    connection = connections[using]
    is_broken = connection.connection.info.transaction_status.name == "INERROR"
    if connection.needs_rollback or is_broken:
        raise TransactionManagementError(
            "A receiver of the signal 'transition' swallowed an error of the database, which undoes the "
            f"{what}. Let it run its statements in an atomic() of its own, or let the error pass."
        )
