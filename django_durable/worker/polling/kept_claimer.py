"""The claimer of a process, one for its life: it remembers places in the lines."""

from __future__ import annotations

import time
from uuid import UUID

from django_durable.claim.claimer import Claimer
from django_durable.claim.identity import Identity

VERSION_HOLDS = 10.0  # seconds until it is read again whether this release is the newest


class KeptClaimer:
    """Made at the first claim; who it claims for is looked up anew where that may have changed."""

    def __init__(self, using: str) -> None:
        self.using = using
        self._claimer: Claimer | None = None
        self._version_holds_until = 0.0

    def of(self, executor: UUID) -> Claimer:
        """As this executor, which is another one after a lease was lost."""
        now = time.monotonic()
        if self._claimer is None:
            self._claimer = Claimer(executor, self.using)
        elif self._claimer.identity.executor != executor or self._is_stale(self._claimer.identity, now):
            self._claimer.identity = Identity.of(executor, self.using)
        else:
            return self._claimer
        self._version_holds_until = now + VERSION_HOLDS
        return self._claimer

    def _is_stale(self, identity: Identity, now: float) -> bool:
        return identity.version is not None and now > self._version_holds_until
