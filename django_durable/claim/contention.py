"""At which queues claims get into each other's way, so that one had better wait for the others first.

Claims that read and plan at the same time plan the same rows, and all but one of them have worked in vain:
with ten claimers of limited keys four claims of five. Where a claim met a peer, the next ones wait for their
peers before they read, in the order in which they came. Nothing depends on it: no limit and no row is safe
because of that wait, and a claim that waited too long goes on without it.
"""

from __future__ import annotations

import time

WAITS_FOR = 1.0  # seconds after a meeting; then one claim tries again without waiting
PATIENCE = 0.5  # seconds; a peer that takes longer hangs, or there are more than the server can serve


class Contention:
    """What one claimer knows of its peers, by queue."""

    def __init__(self) -> None:
        self._waits_until: dict[str, float] = {}
        self._hurries_until: dict[str, float] = {}

    def waits(self, queue: str) -> bool:
        """Whether the next claim from this queue should wait for its peers."""
        now = time.monotonic()
        return self._hurries_until.get(queue, 0.0) <= now < self._waits_until.get(queue, 0.0)

    def met_peers(self, queue: str) -> None:
        """Note that a claim found rows or limits held by others."""
        self._waits_until[queue] = time.monotonic() + WAITS_FOR

    def waited_in_vain(self, queue: str) -> None:
        self._hurries_until[queue] = time.monotonic() + WAITS_FOR
