"""What no tracked file may hold: paths of one machine, addresses of package indexes, unfinished marks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.meta.tree import ROOT, plant, tracked

FORBIDDEN = {
    "a path of one machine": r"(?<![\w.~-])/(?:work|root|home|Users)/\w|(?<![\w.~-])/tmp/\w",
    "the address of a package index": r"--(?:extra-)?index-url|https?://\S+/simple\b",
    "an unfinished mark": r"\b(?:FIXME|XXX|HACK)\b|(?i:lorem ipsum)",
    "a conflict left by a merge": r"(?m)^(?:<{7}|>{7}) ",
}
NOT_TEXT = {".gif", ".gz", ".ico", ".jpg", ".mo", ".png", ".webp", ".woff2", ".zip"}
SPEAKS_OF_THEM = "tests/meta/test_words.py"


def forbidden_words(root: Path) -> list[str]:
    found = []
    for path in tracked(root):
        place = path.relative_to(root).as_posix()
        if path.suffix not in NOT_TEXT and place != SPEAKS_OF_THEM:
            found += [f"{place}: {told}" for told in _told(path.read_text(errors="replace"))]
    return found


def _told(text: str) -> list[str]:
    matches = {what: re.search(pattern, text) for what, pattern in FORBIDDEN.items()}
    return [f"{what}: {match[0]!r}" for what, match in matches.items() if match]


def test_no_tracked_file_holds_what_belongs_elsewhere():
    assert forbidden_words(ROOT) == []


@pytest.mark.parametrize(
    "line",
    [
        "see /home/ann/durable",
        "cd /root/project",
        "written to /tmp/out.json",
        "--index-url https://index.example/simple",
        "x = 1  # FIXME",
        "<<<<<<< ours",
    ],
)
def test_a_forbidden_word_is_told(tmp_path, line):
    plant(tmp_path, "docs/a.md", f"fine\n{line}\n")
    assert len(forbidden_words(tmp_path)) == 1


@pytest.mark.parametrize(
    "line", ["a path like ~/work/x or docs/work/y", 'Path("/tmp") / name', "{{ root }}/tmp/"]
)
def test_what_only_looks_like_one_is_not_told(tmp_path, line):
    plant(tmp_path, "docs/a.md", line)
    assert forbidden_words(tmp_path) == []
