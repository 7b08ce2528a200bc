"""Every app of the repository at once, on settings that start no server: what the type checker reads."""

from __future__ import annotations

from example_project.settings import *  # noqa: F403 - settings are what a module holds

INSTALLED_APPS = [*INSTALLED_APPS, "tests.testapp"]  # noqa: F405
