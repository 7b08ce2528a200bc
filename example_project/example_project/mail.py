"""Letters as files: settings in the words of the Django that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import django

BACKEND = "django.core.mail.backends.filebased.EmailBackend"


def to_files(folder: Path) -> dict[str, Any]:
    """Settings that put every e-mail into `folder`; Django 6.1 has one setting for what were two."""
    if django.VERSION >= (6, 1):
        return {"MAILERS": {"default": {"BACKEND": BACKEND, "OPTIONS": {"file_path": str(folder)}}}}
    return {"EMAIL_BACKEND": BACKEND, "EMAIL_FILE_PATH": str(folder)}
