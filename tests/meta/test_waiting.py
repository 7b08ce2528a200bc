"""A test waits for a fact, never for a time; only real processes under real faults may need one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meta.tree import ROOT, Module, modules, plant

MAY_SLEEP = ("tests/lifecycle/", "tests/stress/", "tests/testapp/lifecycle_")  # the last: bodies to be killed
SLEEPS = {"asyncio.sleep", "time.sleep"}


def sleeping_tests(root: Path) -> list[str]:
    found = []
    for module in modules(root, "tests"):
        if not module.place.startswith(MAY_SLEEP):
            found += [f"{module.place}:{line}: wait for a fact" for line in _sleeps(module)]
    return found


def _sleeps(module: Module) -> Iterator[int]:
    imported = _imported(module.tree)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and not _yields_only(node) and _dotted(node.func, imported) in SLEEPS:
            yield node.lineno


def _imported(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            names |= {alias.asname or alias.name: prefix + alias.name for alias in node.names}
    return names


def _dotted(function: ast.expr, imported: dict[str, str]) -> str:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{imported.get(function.value.id, '')}.{function.attr}"
    return imported.get(function.id, "") if isinstance(function, ast.Name) else ""


def _yields_only(call: ast.Call) -> bool:
    """`sleep(0)` waits for nobody: it lets others run."""
    return [ast.unparse(argument) for argument in call.args] == ["0"]


def test_no_test_waits_for_a_time():
    assert sleeping_tests(ROOT) == []


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)",
        "import time as t\nt.sleep(delay)",
        "from time import sleep as nap\nnap(0.1)",
        "import asyncio\nasync def f():\n    await asyncio.sleep(1)",
    ],
)
def test_a_sleep_is_told_but_where_it_is_allowed(tmp_path, text):
    plant(tmp_path, "tests/lifecycle/test_a.py", text)
    assert sleeping_tests(tmp_path) == []
    plant(tmp_path, "tests/unit/test_a.py", text)
    assert len(sleeping_tests(tmp_path)) == 1


@pytest.mark.parametrize(
    "text",
    ["from django_durable import sleep\nsleep(3600)", "import asyncio\nasyncio.sleep(0)", "clock.sleep(1)"],
)
def test_the_durable_sleep_and_a_mere_turn_are_no_waits(tmp_path, text):
    plant(tmp_path, "tests/unit/test_a.py", text)
    assert sleeping_tests(tmp_path) == []
