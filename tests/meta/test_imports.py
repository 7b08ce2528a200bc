"""What must be importable before Django has settings."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["django_durable", "django_durable.testing.plugin"])
def test_it_is_imported_without_settings(module):
    environ = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import {module}"],
        env=environ,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_tool_for_tests_has_a_home():
    from django_durable import testing

    assert sorted(name for names in testing.HOMES.values() for name in names) == sorted(testing.__all__)
    for name in testing.__all__:
        assert getattr(testing, name)
