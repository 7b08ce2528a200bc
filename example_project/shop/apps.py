"""The shop's app."""

from __future__ import annotations

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """Windsock: prints of airports."""

    name = "shop"
    verbose_name = "Windsock shop"
