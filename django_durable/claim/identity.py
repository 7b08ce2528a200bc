"""On whose behalf a claim is made, and which rows that one may start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django_durable.conf import settings
from django_durable.models import AppVersion


@dataclass(frozen=True, slots=True)
class Identity:
    """`version` None takes any row; else rows of that version, and unversioned ones if it is the newest."""

    executor: UUID
    version: str | None = None
    is_newest: bool = True

    @classmethod
    def of(cls, executor: UUID, using: str) -> Identity:
        version = settings().app_version
        if version is None:
            return cls(executor)
        newest = (
            AppVersion.objects.using(using).order_by("-promoted_at").values_list("name", flat=True).first()
        )
        return cls(executor, version, newest in (None, version))

    @property
    def ready(self) -> dict[str, Any]:
        """What the statements need to tell which rows this process may start."""
        return {"version": self.version, "newest": self.is_newest}

    def new_claim(self) -> dict[str, Any]:
        """What a claim writes into its rows; each claim has a token of its own."""
        return {"executor": self.executor, "token": uuid4(), **self.ready}
