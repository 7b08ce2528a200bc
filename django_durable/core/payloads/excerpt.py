"""A text cut to a size a column can bear, or made fit for any page or log."""

from __future__ import annotations


def excerpt(text: str, limit: int) -> str:
    """A plain str; of a text longer than `limit` characters both ends are kept."""
    text = "".join(["", text])
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def legible(text: str) -> str:
    """Half characters and NUL written as escapes, which any column, page or log can take."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def quoted(value: object, limit: int = 80) -> str:
    """The beginning of its repr, for an error's message; of a value that has none, its type."""
    try:
        text = repr(value)
    except Exception:
        return f"of type {type(value).__name__}"
    return text if len(text) <= limit else f"{text[:limit]}…"
