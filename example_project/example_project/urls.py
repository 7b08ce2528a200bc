"""The shop at the root, the admin beside it."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

admin.site.site_header = "Windsock administration"
admin.site.site_title = "Windsock"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("shop.urls")),
]
