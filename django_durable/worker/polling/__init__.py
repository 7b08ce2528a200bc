"""When to ask for work, and for which queues."""

from __future__ import annotations
