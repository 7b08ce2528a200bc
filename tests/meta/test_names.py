"""Names that say nothing, and the public names in their order."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

import pytest

from tests.meta.tree import OURS, PACKAGE, ROOT, plant

SAY_NOTHING = {"common", "helper", "helpers", "misc", "util", "utils"}


def nameless(root: Path) -> list[str]:
    """Modules and packages called by a name under which anything could lie."""
    found = []
    for folder in OURS:
        for path in sorted((root / folder).rglob("*")):
            if path.stem in SAY_NOTHING and (path.is_dir() or path.suffix == ".py"):
                found.append(path.relative_to(root).as_posix())
    return found


def unsorted_exports(text: str) -> list[str]:
    """Where `__all__` leaves the order that ruff keeps too: constants, classes, functions."""
    names = _exports(ast.parse(text))
    return [f"{name} after {before}" for before, name in pairwise(names) if _key(before) >= _key(name)]


def _exports(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if "__all__" in map(ast.unparse, targets):
                return list(ast.literal_eval(node.value))
    return []


def _key(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _public_module() -> str:
    path = ROOT / PACKAGE / "__init__.py"
    if not path.exists():
        pytest.skip("the package exports nothing yet")
    return path.read_text()


def test_no_module_has_a_name_that_says_nothing():
    assert nameless(ROOT) == []


@pytest.mark.parametrize("place", ["django_durable/engine/utils.py", "tests/helpers/a.py"])
def test_a_name_that_says_nothing_is_told(tmp_path, place):
    plant(tmp_path, place, "")
    assert len(nameless(tmp_path)) == 1


def test_exported_names_are_sorted_and_named_once():
    assert unsorted_exports(_public_module()) == []


def test_every_exported_name_can_be_had():
    import django_durable

    missing = [name for name in _exports(ast.parse(_public_module())) if not hasattr(django_durable, name)]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('__all__ = ["LIMIT", "Run", "step", "workflow"]', []),
        ('__all__ = ["workflow", "step"]', ["step after workflow"]),
        ('__all__: list[str] = ["step", "Run"]', ["Run after step"]),
        ('__all__ = ["step", "step"]', ["step after step"]),
    ],
)
def test_an_export_out_of_order_is_told(text, told):
    assert unsorted_exports(text) == told
