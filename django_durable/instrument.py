"""One span around every operation; logs, metrics and tests are handlers of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

logger = logging.getLogger("django_durable")


@dataclass(slots=True)
class Span:
    """An operation that ended: its name, what was found out about it, and its length in seconds."""

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    error: BaseException | None = None


Handler = Callable[[Span], None]
_handlers: list[Handler] = []


def subscribe(handler: Handler) -> Callable[[], None]:
    """Call `handler` with every span that ends; returns the undo. A handler's error is logged, not raised."""
    _handlers.append(handler)
    return lambda: _handlers.remove(handler) if handler in _handlers else None


@contextmanager
def instrument(name: str, **facts: Any) -> Iterator[dict[str, Any]]:
    """Run the block as one span; the block may add facts to the dict it is given."""
    span = Span(name, facts)
    started = time.monotonic()
    try:
        yield span.facts
    except BaseException as error:
        span.error = error
        raise
    finally:
        span.seconds = time.monotonic() - started
        report(span)


def report(span: Span) -> None:
    for handler in tuple(_handlers):
        try:
            handler(span)
        except Exception:
            logger.exception("the handler %r of span %s raised", handler, span.name)
