"""Bodies that wait without holding a slot, and what wakes them."""

from __future__ import annotations
