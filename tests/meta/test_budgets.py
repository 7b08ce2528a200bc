"""How long a module and a function may be, and how much a function may ask of its caller."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meta.tree import ROOT, Module, modules, plant

MODULE_LINES = 300
TEST_MODULE_LINES = 500
FUNCTION_LINES = 40
POSITIONAL = 5
LONGER = {
    "example_project/example_project/devdb.py": "one file, to be copied as it stands (docs/adr/0002)",
}


def over_budget(root: Path) -> list[str]:
    return [complaint for module in modules(root) for complaint in _complaints(module)]


def _complaints(module: Module) -> Iterator[str]:
    allowed = TEST_MODULE_LINES if module.place.startswith("tests/") else MODULE_LINES
    if module.length > allowed and module.place not in LONGER:
        yield f"{module.place}: {module.length} lines, {allowed} allowed"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _complaints_of_function(f"{module.place}:{node.lineno} {node.name}", node)


def _complaints_of_function(place: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    if length > FUNCTION_LINES:
        yield f"{place}: {length} lines, {FUNCTION_LINES} allowed"
    positional = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    asked = len(positional) - (positional[:1] in (["self"], ["cls"]))
    if asked > POSITIONAL and not function.name.startswith("test_"):  # nobody calls a test by position
        yield f"{place}: {asked} positional parameters, {POSITIONAL} allowed; make the rest keyword-only"


def test_the_house_keeps_its_budgets():
    assert over_budget(ROOT) == []


@pytest.mark.parametrize(
    ("place", "allowed"), [("django_durable/long.py", MODULE_LINES), ("tests/long.py", TEST_MODULE_LINES)]
)
def test_a_module_one_line_too_long_is_told(tmp_path, place, allowed):
    plant(tmp_path, place, "x = 1\n" * allowed)
    assert over_budget(tmp_path) == []
    plant(tmp_path, place, "x = 1\n" * (allowed + 1))
    assert over_budget(tmp_path) == [f"{place}: {allowed + 1} lines, {allowed} allowed"]


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_function_one_line_too_long_is_told(tmp_path, keyword):
    plant(tmp_path, "django_durable/a.py", f"{keyword} f():\n" + "    x = 1\n" * (FUNCTION_LINES - 1))
    assert over_budget(tmp_path) == []
    plant(tmp_path, "django_durable/a.py", f"{keyword} f():\n" + "    x = 1\n" * FUNCTION_LINES)
    assert over_budget(tmp_path) == ["django_durable/a.py:1 f: 41 lines, 40 allowed"]


def test_a_method_inside_a_class_is_counted_without_its_self(tmp_path):
    plant(tmp_path, "django_durable/a.py", "class A:\n    def f(self, a, b, c, d, e, *, g, h): ...\n")
    assert over_budget(tmp_path) == []
    plant(tmp_path, "django_durable/a.py", "class A:\n    def f(self, a, b, /, c, d, e, g): ...\n")
    assert over_budget(tmp_path) == [
        "django_durable/a.py:2 f: 6 positional parameters, 5 allowed; make the rest keyword-only"
    ]


def test_migrations_are_exempt(tmp_path):
    plant(tmp_path, "django_durable/migrations/0001_initial.py", "x = 1\n" * 1000)
    assert over_budget(tmp_path) == []
