"""What the documents promise is there: the two commands, the table of features, the decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meta.tree import ROOT, plant

FIRST_SCREEN = 60
COMMANDS = (
    "python3 -m venv .venv && .venv/bin/pip install -e '.[example]'"
    " && .venv/bin/python example_project/manage.py demo",
    "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest",
)
ANSWERS = {"yes", "partly"}


def commands_not_alone(readme: str) -> list[str]:
    """Commands that do not stand in a block of their own on the first screen."""
    screen = "\n".join(readme.splitlines()[:FIRST_SCREEN])
    blocks = re.findall(r"^```\w*\n(.*?)\n```$", screen, re.MULTILINE | re.DOTALL)
    return [command for command in COMMANDS if command not in blocks]


def baseless_claims(root: Path) -> list[str]:
    """Rows of docs/status.md that claim a feature without a test that is there."""
    text = (root / "docs/status.md").read_text()
    rows = re.findall(r"^\|([^|]+)\|([^|]+)\|([^|]+)\|$", text, re.MULTILINE)
    return [f"{row[0].strip()}: {lack}" for row in rows for lack in _lacks(root, row[1].strip(), row[2])]


def _lacks(root: Path, works: str, shown: str) -> Iterator[str]:
    tests = re.findall(r"`(tests/[^`]+)`", shown)
    if works in {"works", "---", "planned"}:
        return
    if works not in ANSWERS:
        yield f"{works!r} is no answer; say yes, partly or planned"
    elif not tests:
        yield "no test is named"
    yield from (f"{test} is not there" for test in tests if not _exists(root, test))


def _exists(root: Path, test: str) -> bool:
    place, _, name = test.partition("::")
    path = root / place
    return path.exists() and (not name or f"def {name}(" in path.read_text())


def test_the_two_commands_stand_alone_on_the_first_screen():
    assert commands_not_alone((ROOT / "README.md").read_text()) == []


def test_ci_runs_the_very_command_that_the_readme_gives():
    lines = [line.strip() for line in (ROOT / ".ci/run").read_text().splitlines()]
    assert COMMANDS[1] in lines


def test_every_claimed_feature_names_the_test_that_shows_it():
    assert baseless_claims(ROOT) == []


def test_every_decision_is_in_the_index():
    decisions = sorted(path.stem for path in (ROOT / "docs/adr").glob("[0-9]*.md"))
    index = (ROOT / "docs/adr/index.md").read_text()
    assert [stem for stem in decisions if stem not in index] == []


@pytest.mark.parametrize("spoilt", ["$ {}", "{} --quick", "first\n{}"])
def test_a_command_that_does_not_stand_alone_is_told(spoilt):
    good = "\n".join(f"```sh\n{command}\n```" for command in COMMANDS)
    assert commands_not_alone(good) == []
    assert commands_not_alone(good.replace(COMMANDS[0], spoilt.format(COMMANDS[0]))) == [COMMANDS[0]]
    assert commands_not_alone("\n" * FIRST_SCREEN + good) == list(COMMANDS)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("| a | yes | `tests/test_a.py::test_one` |", 0),
        ("| a | planned | |", 0),
        ("| a | partly | `tests/test_a.py` |", 0),
        ("| a | yes | |", 1),
        ("| a | yes | `tests/test_b.py` |", 1),
        ("| a | yes | `tests/test_a.py::test_two` |", 1),
        ("| a | soon | `tests/test_a.py` |", 1),
    ],
)
def test_a_claim_without_its_test_is_told(tmp_path, row, told):
    plant(tmp_path, "tests/test_a.py", "def test_one(): ...")
    plant(tmp_path, "docs/status.md", f"| feature | works | shown by |\n|---|---|---|\n{row}\n")
    assert len(baseless_claims(tmp_path)) == told
