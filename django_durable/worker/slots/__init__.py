"""Where runs are executed, and what is counted of them."""

from __future__ import annotations
