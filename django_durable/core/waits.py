"""What a run can wait for, and the topic under which it is found when that comes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class Wait(NamedTuple):
    """All that would end one wait. With nothing but `until` it is a mere sleep."""

    until: datetime | None = None
    mailboxes: tuple[str, ...] = ()
    events: tuple[tuple[str, str], ...] = ()  # (workflow id, key)
    runs: tuple[str, ...] = ()
    children_only: bool = False

    @property
    def is_sleep(self) -> bool:
        return not (self.mailboxes or self.events or self.runs)

    @property
    def topic(self) -> str | None:
        """`any` where no single topic says it: then `topics` do."""
        topics = [*(f"message {topic}" for topic in self.mailboxes), *self._of_others]
        if len(topics) > 1:
            only_children = self.children_only and not (self.mailboxes or self.events)
            return "children" if only_children else "any"
        return topics[0] if topics else None

    @property
    def topics(self) -> list[str]:
        """Of several, those that its own row and its parent's do not tell already."""
        if self.topic != "any":
            return []
        return self._of_events if self.children_only else self._of_others

    @property
    def _of_others(self) -> list[str]:
        return [*self._of_events, *(f"run {workflow_id}" for workflow_id in self.runs)]

    @property
    def _of_events(self) -> list[str]:
        return [f"event {workflow_id} {key}" for workflow_id, key in self.events]

    def joined(self, other: Wait) -> Wait:
        """The wait of two concurrent branches: the first of all ends it."""
        instants = [until for until in (self.until, other.until) if until is not None]
        return Wait(
            until=min(instants, default=None),
            mailboxes=tuple(sorted({*self.mailboxes, *other.mailboxes})),
            events=tuple(sorted({*self.events, *other.events})),
            runs=tuple(sorted({*self.runs, *other.runs})),
            children_only=(self.children_only or not self.runs) and (other.children_only or not other.runs),
        )
