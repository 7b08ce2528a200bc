"""How the fleet knows that this process lives."""

from __future__ import annotations
