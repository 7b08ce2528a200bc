"""The composition root: what Django starts when the app is installed."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

WORKFLOW_MODULES = ("workflows", "tasks")


def _find_workflows() -> None:
    """A module that ends the process as it is imported would end each worker, as if it had been asked to."""
    try:
        autodiscover_modules(*WORKFLOW_MODULES)
    except SystemExit as ended:
        raise ImproperlyConfigured(
            f"a module of workflows raised SystemExit({ended.code!r}) as it was imported; see the traceback "
            "for which, and let it raise nothing, or an error that says what is wrong"
        ) from ended


class DurableConfig(AppConfig):
    name = "django_durable"
    label = "durable"
    verbose_name = "Durable workflows"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # these need the models, which are loaded by now; checks register themselves
        from django_durable import checks  # noqa: F401
        from django_durable.engine import references, validation_errors
        from django_durable.engine.queues import keep_queues
        from django_durable.models import sessions

        references.register()
        sessions.register()
        validation_errors.register()
        _find_workflows()
        post_migrate.connect(keep_queues, sender=self, dispatch_uid="django_durable.queues")
