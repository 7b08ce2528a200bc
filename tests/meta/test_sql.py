"""Where SQL may stand, and what each statement says of itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from django_durable.sql import NO_STATEMENTS
from tests.meta.tree import PACKAGE, ROOT, Module, modules, plant

RUNS_SQL = ("claim/", "engine/execution/recorder.py", "maintenance/", "models/")  # who may open a cursor
KEYS = ("rides on", "locks", "returns")
RAW = {"RawSQL", "cursor", "extra", "raw"}
SQL = re.compile(
    r"\s*(?:(?i:select\b.+?\bfrom\b|insert\s+into\b|update\s+\S+\s+set\b|delete\s+from\b|"
    r"with\s+(?:recursive\s+)?\w+\s+as\s*(?:materialized\s*)?\(|create\s+(?:or\s|unique\s|index|table|function)|"
    r"(?:alter|drop|lock)\s+table\b|set\s+local\b)|(?:SELECT|INSERT|UPDATE|DELETE|LISTEN|UNLISTEN|NOTIFY|TRUNCATE|COPY)\s)",
    re.DOTALL,
)


def misplaced_sql(root: Path) -> list[str]:
    """Statements in Python text anywhere in the package, and cursors outside the rooms that run SQL."""
    return [complaint for module in modules(root, PACKAGE) for complaint in _complaints(module)]


def _complaints(module: Module) -> Iterator[str]:
    runs_sql = module.place.removeprefix(f"{PACKAGE}/").startswith(RUNS_SQL)
    prose = _docstrings(module.tree)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            if SQL.match(node.value):
                yield f"{module.place}:{node.lineno}: a statement belongs in {PACKAGE}/sql/"
        elif isinstance(node, ast.Call) and _called(node) in RAW and not runs_sql:
            yield f"{module.place}:{node.lineno}: {_called(node)}() is for {', '.join(RUNS_SQL)}"


def _docstrings(tree: ast.Module) -> set[ast.AST]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))


def mute_statements(root: Path) -> list[str]:
    """Files of SQL that do not say what they are for, ride on, lock and return, or hold two statements.

    A fragment, which is part of statements, and a script of the schema, which a migration runs, need only say
    what they are for.
    """
    folder = root / PACKAGE / "sql"
    found = []
    for path in sorted(folder.rglob("*.sql")):
        text = path.read_text()
        lacks = [*_purpose(text), *(_promises(text) if path.parent.name not in NO_STATEMENTS else ())]
        found += [f"{path.relative_to(root)}: {lack}" for lack in lacks]
    return found


def _purpose(text: str) -> Iterator[str]:
    first = _header(text)[:1]
    if not first or not first[0].strip() or first[0].strip().startswith(KEYS):
        yield "its first line does not say what it is for"


def _promises(text: str) -> Iterator[str]:
    for key in KEYS:
        if not any(re.match(rf"\s+{key}\s+\S", line) for line in _header(text)):
            yield f"its header lacks '{key}'"
    if len([statement for statement in _bare(text).split(";") if statement.strip()]) != 1:
        yield "one statement a file"


def _header(text: str) -> list[str]:
    return [line[2:] for line in takewhile(lambda line: line.startswith("--"), text.splitlines())]


def loose_fragments(root: Path) -> list[str]:
    """Fragments that no statement takes, and those taken that do not exist."""
    folder = root / PACKAGE / "sql"
    texts = [path.read_text() for path in folder.rglob("*.sql")]
    taken = {name for text in texts for name in re.findall(r"\{\{(\w+)\}\}", text)}
    return sorted(taken ^ {path.stem for path in folder.glob("fragments/*.sql")})


def _bare(text: str) -> str:
    """The text without comments and quoted parts, in which a semicolon ends nothing."""
    return re.sub(r"--[^\n]*|/\*.*?\*/|(\$\w*\$).*?\1|'(?:[^']|'')*'", "''", text, flags=re.DOTALL).replace(
        "''", " "
    )


def test_sql_stands_in_its_own_rooms():
    assert misplaced_sql(ROOT) == []


def test_every_statement_says_what_it_rides_on_locks_and_returns():
    assert mute_statements(ROOT) == []


def test_every_fragment_is_taken_by_a_statement():
    assert loose_fragments(ROOT) == []


@pytest.mark.parametrize(
    "line",
    [
        "q = 'SELECT 1'",
        "q = 'select id from t'",
        "q = f'UPDATE {table} SET x = 1'",
        "q = '''\n    WITH due AS (SELECT 1) TABLE due'''",
        "q = 'LISTEN durable'",
        "q = 'set local lock_timeout = 1'",
    ],
)
def test_a_statement_in_python_text_is_told_even_where_sql_is_run(tmp_path, line):
    plant(tmp_path, "django_durable/claim/a.py", line)
    assert len(misplaced_sql(tmp_path)) == 1


@pytest.mark.parametrize(
    "call", ["connection.cursor()", "W.objects.raw(q)", "RawSQL(q, [])", "rows.extra(q)"]
)
def test_a_cursor_is_told_outside_the_rooms_that_run_sql(tmp_path, call):
    plant(tmp_path, "django_durable/engine/execution/recorder.py", call)
    plant(tmp_path, "django_durable/models/a.py", call)
    assert misplaced_sql(tmp_path) == []
    plant(tmp_path, "django_durable/worker/a.py", call)
    assert len(misplaced_sql(tmp_path)) == 1


@pytest.mark.parametrize("line", ['"""SELECT is what this module does."""', "e = 'select the rows you want'"])
def test_prose_is_no_statement(tmp_path, line):
    plant(tmp_path, "django_durable/a.py", line)
    assert misplaced_sql(tmp_path) == []


GOOD = """\
-- Wake what is due.
--   rides on   durable_due
--   locks      nothing
--   returns    ids; none is no error
SELECT id FROM t WHERE note <> 'a;b' -- or;
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD, 0),
        (GOOD.replace("-- Wake what is due.\n", ""), 1),
        (GOOD.replace("rides on   durable_due", "rides on"), 1),
        (GOOD.replace("--   locks      nothing\n", ""), 1),
        (GOOD.replace("returns", "gives"), 1),
        (GOOD + "; DELETE FROM t", 1),
        (GOOD.split("SELECT")[0], 1),
        ("", 5),
        ("SELECT 1\n" + GOOD.split("SELECT")[0], 4),
    ],
)
def test_a_mute_statement_is_told(tmp_path, text, told):
    plant(tmp_path, "django_durable/sql/line/wake.sql", text)
    assert len(mute_statements(tmp_path)) == told


@pytest.mark.parametrize("place", ["fragments/marks.sql", "schema/marks.sql"])
def test_a_part_of_statements_or_of_the_schema_needs_only_its_purpose(tmp_path, place):
    plant(tmp_path, f"django_durable/sql/{place}", "-- What leaves the line.\nline = NULL;\nline = 1;\n")
    assert mute_statements(tmp_path) == []
    plant(tmp_path, f"django_durable/sql/{place}", "line = NULL\n")
    assert len(mute_statements(tmp_path)) == 1


def test_a_fragment_nobody_takes_and_one_that_is_missing_are_told(tmp_path):
    plant(tmp_path, "django_durable/sql/fragments/marks.sql", "")
    plant(tmp_path, "django_durable/sql/wake.sql", "SELECT {{marks}}")
    assert loose_fragments(tmp_path) == []
    plant(tmp_path, "django_durable/sql/wake.sql", "SELECT {{mark}}")
    assert loose_fragments(tmp_path) == ["mark", "marks"]
