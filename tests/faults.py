"""Faults that PostgreSQL itself makes: a trigger raises for chosen writes, as often as it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

MAKE = """
CREATE SEQUENCE durable_fault_count;
CREATE FUNCTION durable_fault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('durable_fault_count') <= {times} THEN
        RAISE EXCEPTION 'a fault made for a test' USING ERRCODE = '{sqlstate}';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER durable_fault BEFORE {verb} ON {table}
    FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION durable_fault();
"""
UNDO = """
DROP TRIGGER durable_fault ON {table};
DROP FUNCTION durable_fault;
DROP SEQUENCE durable_fault_count;
"""
CLAIMS = "NEW.status = 'PENDING'"
ENDS = "NEW.status IN ('SUCCESS', 'ERROR')"


@contextmanager
def fault(
    sqlstate: str,
    *,
    times: int,
    condition: str = "true",
    verb: str = "UPDATE",
    table: str = "durable_workflow_status",
) -> Iterator[None]:
    """Writes that meet the condition fail so many times; what is counted survives the rollback."""
    with connection.cursor() as cursor:
        cursor.execute(
            MAKE.format(sqlstate=sqlstate, times=times, condition=condition, verb=verb, table=table)
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(UNDO.format(table=table))
