"""The process: its command line, its parts, its signals, its end."""

from __future__ import annotations
