"""The tree that the house rules read: the repository itself, or a small one planted by a test."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "django_durable"
OURS = (PACKAGE, "tests", "example_project")
UNTRACKED = {"__pycache__", "_build", "build", "dist", "htmlcov"}


class Module(NamedTuple):
    """One Python file: its place in the tree, its text and what it parses to."""

    place: str
    text: str
    tree: ast.Module

    @property
    def length(self) -> int:
        return len(self.text.splitlines())

    @property
    def name(self) -> str:
        return Path(self.place).stem


def modules(root: Path, *folders: str) -> Iterator[Module]:
    """Every Python file under the folders but migrations, which are written by a tool and then kept."""
    for folder in folders or OURS:
        for path in sorted((root / folder).rglob("*.py")):
            place = path.relative_to(root).as_posix()
            if "/migrations/" in place and not place.startswith("tests/"):
                continue
            text = path.read_text()
            yield Module(place, text, ast.parse(text, place))


def tracked(root: Path) -> list[Path]:
    """What git keeps; in a tree without git, such as an unpacked archive, all that is not hidden or built."""
    kept = [root / name for name in git_files(root)]
    if kept:
        return [path for path in kept if path.is_file()]
    return [path for path in sorted(root.rglob("*")) if path.is_file() and _is_kept(path.relative_to(root))]


def git_files(root: Path, *which: str) -> list[str]:
    """What `git ls-files` lists; nothing where there is no git, or where it does not know the tree."""
    if not shutil.which("git"):
        return []
    command: list[str | Path] = ["git", "-C", root, "ls-files", "-z", *which]
    listing = subprocess.run(command, capture_output=True, text=True).stdout
    return [name for name in listing.split("\0") if name]


def plant(root: Path, place: str, text: str) -> Path:
    """Write one file of a tree that breaks a rule."""
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return root


def _is_kept(place: Path) -> bool:
    folders = place.parts[:-1]
    return not any(part in UNTRACKED or (part.startswith(".") and part != ".ci") for part in folders)
