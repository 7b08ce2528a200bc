"""Sets the stage: tables, an administrator, prints on the shelf."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command

from django_durable.models import WorkflowStatus
from shop import shelving
from shop.demo.script import Script
from shop.models import Product
from shop.progress import ENDED

ADMIN = "admin"


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False)


def admin() -> str:
    """Make sure of somebody who may enter the admin, and say who."""
    users = get_user_model()._default_manager
    if users.filter(username=ADMIN).exists():
        return f"user {ADMIN}, as you left it"
    if not settings.DEBUG:
        return "none made, since DEBUG is off: see createsuperuser"
    users.create_superuser(ADMIN, "admin@example.com", ADMIN)
    return f"user {ADMIN}, password {ADMIN} (just made; for development only)"


def leftovers() -> int:
    """How many workflows an interrupted demo left in line."""
    count: int = WorkflowStatus.objects.exclude(status__in=ENDED).count()
    return count


def shelf(script: Script) -> list[Product]:
    """The shop window, with enough on the shelf for everybody who comes."""
    return shelving.dress_window(least_on_hand=2 * script.orders)
