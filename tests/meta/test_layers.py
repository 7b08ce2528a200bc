"""The contract of the layers, as `lint-imports` judges it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.tree import PACKAGE, ROOT, plant

RUN = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"


def judge(root: Path) -> subprocess.CompletedProcess[str]:
    """The checker reads the package of the folder it runs in."""
    return subprocess.run([sys.executable, "-c", RUN, "--no-cache"], cwd=root, capture_output=True, text=True)


def test_dependencies_point_inward():
    verdict = judge(ROOT)
    assert verdict.returncode == 0, verdict.stdout


@pytest.mark.parametrize(
    ("place", "text", "told"),
    [
        ("core/upward.py", "import django_durable.models", "django_durable.core is not allowed to import"),
        ("sql/sideways.py", "import django_durable.core", "django_durable.sql is not allowed to import"),
        (
            "core/roundabout.py",
            "import django_durable.conf",
            "django_durable.core is not allowed to import django",
        ),
        ("core/threads.py", "import threading", "django_durable.core is not allowed to import threading"),
        ("homeless.py", "", "is not included in any of the layers|django_durable.homeless"),
    ],
)
def test_an_import_against_the_layers_is_told(tmp_path, place, text, told):
    shutil.copytree(ROOT / PACKAGE, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    plant(tmp_path, f"{PACKAGE}/{place}", text)
    verdict = judge(tmp_path)
    assert verdict.returncode == 1
    assert any(part in " ".join(verdict.stdout.split()) for part in told.split("|")), verdict.stdout
