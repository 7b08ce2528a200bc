"""The composition root: what Django starts when the app is installed."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules

WORKFLOW_MODULES = ("workflows", "tasks")


class DurableConfig(AppConfig):
    name = "django_durable"
    label = "durable"
    verbose_name = "Durable workflows"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        autodiscover_modules(*WORKFLOW_MODULES)
