"""How a run comes into being."""

from __future__ import annotations
