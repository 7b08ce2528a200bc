"""What the pages show runs: the python blocks of each, one after the other, in one namespace."""

from __future__ import annotations

import ast
import re
from argparse import ArgumentParser
from pathlib import Path

import pytest

from django_durable import conf
from django_durable.engine.declared import workflows
from django_durable.worker.process.arguments import add_arguments

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = sorted(f"guides/{path.name}" for path in (DOCS / "guides").glob("*.md"))
PAGES = ["guarantees.md", "states.md", *GUIDES]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _only_the_declarations_of_the_project():
    before = {id(declaration) for declaration in workflows}
    yield
    for declaration in [each for each in workflows if id(each) not in before]:
        workflows.remove(declaration)


@pytest.mark.django_db
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page):
    text = (DOCS / page).read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks
    namespace = {"__name__": f"docs.{Path(page).stem}"}
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + block[1], str(DOCS / page), "exec"), namespace)


def test_every_test_that_the_checklist_names_is_there():
    text = (DOCS / "checklist.md").read_text()
    named = re.findall(r"`(tests/[^`:]+)(?:::(\w+))?`", text)
    assert named
    missing = [
        place + name
        for place, name in named
        if not (path := DOCS.parent / place).exists() or (name and f"def {name}(" not in path.read_text())
    ]
    assert missing == []


def test_every_line_of_the_checklist_names_a_test_or_says_why_not():
    rows = re.findall(r"^\|(.+)\|(.+)\|$", (DOCS / "checklist.md").read_text(), re.MULTILINE)
    told = [answer for _, answer in rows if answer.strip() not in {"shown by", "---"}]
    assert [answer for answer in told if "`tests/" not in answer and "*" not in answer] == []


def test_the_page_of_settings_has_each_key_with_its_default():
    rows = re.findall(r"^\| `([A-Z_]+)` \| `(.+?)` \|", (DOCS / "settings.md").read_text(), re.MULTILINE)
    told = {key: default if key == "SERIALIZER" else ast.literal_eval(default) for key, default in rows}
    assert told == {key: getattr(conf.Settings(), name) for key, name in conf.KEYS.items()}


def test_the_page_of_workers_has_each_option_of_the_command():
    parser = ArgumentParser(add_help=False)
    add_arguments(parser)
    known = {option for action in parser._actions for option in action.option_strings}
    shown = re.findall(r"`(--[a-z-]+)`", (DOCS / "workers.md").read_text())
    assert set(shown) == known - {"--child"}
