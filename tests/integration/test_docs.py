"""What the pages show runs: the python blocks of each, one after the other, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from django_durable.engine.declared import workflows

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["guarantees.md", *sorted(f"guides/{path.name}" for path in (DOCS / "guides").glob("*.md"))]
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
