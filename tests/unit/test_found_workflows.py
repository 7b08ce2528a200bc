"""Modules of workflows that cannot be imported: told as what they are, and never taken for an end."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import AppConfig, apps
from django.core.exceptions import ImproperlyConfigured

from django_durable.apps import _find_workflows


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The workflows of an app of this test's own."""
    package = tmp_path / "app_that_ends"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    config = AppConfig.create("app_that_ends")
    monkeypatch.setitem(apps.app_configs, "app_that_ends", config)
    monkeypatch.setattr(config, "apps", apps)
    config.import_models()
    yield package / "workflows.py"
    for name in [name for name in sys.modules if name.startswith("app_that_ends")]:
        del sys.modules[name]


@pytest.mark.parametrize("code", [0, 1, "bye"])
def test_a_module_that_ends_the_process_is_an_error_that_shows_where(module: Path, code: object) -> None:
    module.write_text(f"raise SystemExit({code!r})\n")
    with pytest.raises(ImproperlyConfigured, match=r"SystemExit\(") as raised:
        _find_workflows()
    assert str(module) in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("import nowhere_at_all", ImportError),
        ("def (:", SyntaxError),
        ("raise ValueError", ValueError),
        ("call = lambda: call()\ncall()", RecursionError),
    ],
)
def test_what_else_a_module_raises_is_raised_as_it_is(
    module: Path, text: str, error: type[Exception]
) -> None:
    module.write_text(text)
    with pytest.raises(error):
        _find_workflows()
