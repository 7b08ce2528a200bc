"""What a run takes along from where it was enqueued: language, time zone, and what the project adds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache
from typing import Any, Protocol

from django.conf import settings as django_settings
from django.utils import timezone, translation
from django.utils.module_loading import import_string

from django_durable.conf import settings
from django_durable.engine.launching import zones


class ContextHook(Protocol):
    """A class named in DURABLE['CONTEXT']; one object of it serves the whole process."""

    def capture(self) -> Any:
        """Called at enqueue: a plain JSON value to take along, or None."""

    def restored(self, value: Any) -> AbstractContextManager[Any]:
        """Called around the body with what was captured."""


def capture() -> str:
    """The headers of a run that is enqueued now, as JSON."""
    headers: dict[str, Any] = {}
    language, zone = translation.get_language(), zones.told(timezone.get_current_timezone())
    if language is not None and language != django_settings.LANGUAGE_CODE:
        headers["language"] = language
    if zone != zones.told(timezone.get_default_timezone()):
        headers["timezone"] = zone
    for path in settings().context:
        value = _hook(path).capture()
        if value is not None:
            headers[path] = value
    return json.dumps(headers)


@contextmanager
def restored(headers: str | dict[str, Any]) -> Iterator[None]:
    """The surroundings of the enqueue, whatever those of this thread are; these are back afterwards."""
    given = json.loads(headers) if isinstance(headers, str) else headers
    # the zone None is the default one, and takes what the body activates back with it
    with (
        translation.override(given.get("language", django_settings.LANGUAGE_CODE)),
        timezone.override(zones.found(given.get("timezone"))),
        ExitStack() as stack,
    ):
        for path in settings().context:
            if path in given:
                stack.enter_context(_hook(path).restored(given[path]))
        yield


@lru_cache(maxsize=32)
def _hook(path: str) -> ContextHook:
    hook: ContextHook = import_string(path)()
    return hook
