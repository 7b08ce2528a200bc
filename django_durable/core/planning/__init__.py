"""From the limits and the line to a plan: pure, incremental, exact."""

from __future__ import annotations
