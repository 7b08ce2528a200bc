"""How long this process's connections may wait for a network that swallows everything."""

from __future__ import annotations

from django.db import connections

# libpq's parameters; the project's own OPTIONS win, and a Unix socket ignores all but the first
BOUNDS = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def bound_waits(*aliases: str) -> None:
    """Bound connecting and dead lines, for connections that are opened from now on."""
    for alias in aliases:
        options = connections.settings[alias].setdefault("OPTIONS", {})
        for name, value in BOUNDS.items():
            options.setdefault(name, value)
