"""Which releases of the project's code have run workers."""

from __future__ import annotations

from django.db import models

from django_durable.models.fields import KeyField


class AppVersion(models.Model):
    """One release of the project; the one promoted last is the latest."""

    name = KeyField(primary_key=True)
    registered_at = models.DateTimeField()
    promoted_at = models.DateTimeField(db_comment="Decides which version is the latest")

    class Meta:
        db_table = "durable_app_version"
        ordering = ["-promoted_at"]

    def __str__(self) -> str:
        return self.name
