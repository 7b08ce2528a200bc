"""Writes that many slots wait for, sent together."""

from __future__ import annotations
