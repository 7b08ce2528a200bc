"""How Sphinx builds these pages; a warning fails the build."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "django_durable"
author = "django_durable contributors"
copyright = f"2026, {author}"
version = release = version_of("django_durable")

extensions = ["myst_parser", "transitions"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_extensions"]
nitpicky = True

html_theme = "furo"
html_title = f"django_durable {release}"
