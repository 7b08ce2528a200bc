"""One execution of one run, from its claim to its outcome."""

from __future__ import annotations
