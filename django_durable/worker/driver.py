"""The driver of PostgreSQL: whether the one that is installed will do."""

from __future__ import annotations

OLDEST = (3, 2)
REMEDY = "Install it: pip install 'psycopg[binary]>=3.2'."


def fault_of_driver() -> str | None:
    """What is wrong with psycopg 3 here; Django itself is content with psycopg 2."""
    try:
        import psycopg  # here, so that its absence can be told
    except ImportError as error:
        return f"psycopg 3 cannot be loaded: {error}"
    if tuple(map(int, psycopg.__version__.split(".")[:2])) >= OLDEST:
        return None
    return f"psycopg {psycopg.__version__} is too old: {'.'.join(map(str, OLDEST))} is needed"
