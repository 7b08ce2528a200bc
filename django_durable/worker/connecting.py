"""What this process does about connections before it works: bounds their waits, and tries one."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


LASTING_CODES = frozenset({"3D000", "28000", "28P01", "42501"})
# Where libpq keeps the code to itself, an attempt is known by its words, which are English unless the server
# was set up otherwise; one that is not known is taken for an outage. Poolers and libpq have words alone.
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
ATTEMPT = re.compile(r"^- host: (.+?), port: (.+?), hostaddr: (.+?): (.*)", re.MULTILINE)
NOT_OF_LIBPQ = ("autocommit", "context", "cursor_factory", "prepare_threshold", "row_factory")


def refused_for_good(alias: str) -> str | None:
    """Try one connection, past any pool; why no waiting will bring it about, in one line.

    None: it was made, or the database is away and may come back.
    """
    wrapper: Any = connections[alias]
    params: dict[str, Any] = {}
    try:
        params = wrapper.get_connection_params()
        wrapper.Database.connect(**params).close()
    except (ImproperlyConfigured, wrapper.Database.ProgrammingError) as error:
        return _first_line(error)
    except wrapper.Database.OperationalError as error:
        return _first_line(error) if _is_lasting(error, params, wrapper.Database) else None
    return None


def _is_lasting(error: BaseException, params: Mapping[str, Any], driver: Any) -> bool:
    """Whether every host that was tried said so."""
    if isinstance(error, driver.errors.ConnectionTimeout):
        return False
    given = {name: value for name, value in params.items() if name not in NOT_OF_LIBPQ}
    attempts = [(told, {**given, **_address(*where)}) for *where, told in ATTEMPT.findall(str(error))] or [
        (str(error), given)
    ]
    return all(LASTING.search(told) or _is_refused(one, driver) for told, one in attempts)


def _address(host: str, port: str, hostaddr: str) -> dict[str, str]:
    """One of several that were tried, as psycopg writes it in the error: reprs of a text, or None."""
    values = {"host": host, "port": port, "hostaddr": hostaddr}
    return {name: value.strip("'") for name, value in values.items() if value != "None"}


def _is_refused(params: Mapping[str, Any], driver: Any) -> bool:
    from django_durable.worker.refusals import code_of_refusal  # here, as it needs the driver to be there

    patience = float(params.get("connect_timeout") or BOUNDS["connect_timeout"])
    return code_of_refusal(driver.conninfo.make_conninfo(**params), patience) in LASTING_CODES


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0]
