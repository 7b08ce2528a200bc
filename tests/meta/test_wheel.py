"""What is shipped: every file of the package, and nothing beside it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.meta.tree import PACKAGE, ROOT, git_files, plant, tracked


def lost_on_the_way(root: Path, wheel: Path) -> set[str]:
    """Files of the package that the wheel lacks, and files of the wheel that are not the package's."""
    kept = {path.relative_to(root).as_posix() for path in tracked(root)}
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    return {name for name in kept if name.startswith(f"{PACKAGE}/")} ^ shipped


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_the_whole_package_and_nothing_else(wheel):
    assert lost_on_the_way(ROOT, wheel) - _not_added_yet() == set()


def _not_added_yet() -> set[str]:
    """Files that the builder sees and git does not: somebody is at work on them."""
    return set(git_files(ROOT, "--others", "--exclude-standard", PACKAGE))


def test_the_wheel_says_that_it_is_typed_and_how_it_is_licensed(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert f"{PACKAGE}/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_a_file_left_behind_and_a_stowaway_are_told(tmp_path):
    plant(tmp_path, "django_durable/sql/wake.sql", "")
    plant(tmp_path, "tests/a.py", "")
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("tests/a.py", "")
    assert lost_on_the_way(tmp_path, tmp_path / "a.whl") == {"django_durable/sql/wake.sql", "tests/a.py"}
