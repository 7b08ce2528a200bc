"""What this process does about connections before it works: bounds their waits, and tries one."""

from __future__ import annotations

import re
from typing import Any

from django.core.exceptions import ImproperlyConfigured
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


# An attempt that fails brings no SQLSTATE: libpq keeps it to itself. So it is known by its words, which are
# English unless the server was set up otherwise; one that is not known is taken for an outage.
LASTING = re.compile(
    r"""database\ ".*"\ does\ not\ exist | role\ ".*"\ does\ not\ exist       # 3D000, 28000
    | is\ not\ permitted\ to\ log\ in | \bpg_hba\.conf\b                   # 28000
    | authentication\ failed\ for\ user | no\ password\ supplied            # 28P01
    | permission\ denied\ for\ database                                     # 42501
    | no\ such\ (?:database|user)                                           # as poolers say it
    | does\ not\ support\ SSL,\ but\ SSL\ was\ required
    | connection\ is\ bad:\ (?:invalid|definition\ of\ service)              # libpq does not even try
    """,
    re.VERBOSE,
)


def refused_for_good(alias: str) -> str | None:
    """Try one connection, past any pool; why no waiting will bring it about, in one line.

    None: it was made, or the database is away and may come back.
    """
    wrapper: Any = connections[alias]
    try:
        wrapper.Database.connect(**wrapper.get_connection_params()).close()
    except (ImproperlyConfigured, wrapper.Database.ProgrammingError) as error:
        return _first_line(error)
    except wrapper.Database.OperationalError as error:
        return _first_line(error) if _is_lasting(str(error)) else None
    return None


def _is_lasting(told: str) -> bool:
    """Whether every host that was tried said so."""
    attempts = re.findall(r"^- host: .*", told, re.MULTILINE) or [told]
    return all(LASTING.search(attempt) for attempt in attempts)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0]
