"""What one worker process is told to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Durations are seconds, `max_memory` is MB; `queues` empty means all."""

    using: str
    queues: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    slots: int = 10
    poll_interval: float = 1.0
    shutdown_timeout: float = 25.0
    burst: bool = False
    max_tasks: int | None = None
    max_memory: int | None = None
    listens: bool = True
    maintains: bool = True
    worker_id: str = ""
    heartbeat_file: Path | None = None
    core: int | None = None

    @property
    def serves_nothing(self) -> bool:
        """Whether each queue that is named is left out again."""
        return bool(self.queues) and set(self.queues) <= set(self.exclude)
