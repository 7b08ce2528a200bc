"""The shop at the root, the admin beside it."""

from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

admin.site.site_header = "Windsock administration"
admin.site.site_title = "Windsock"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("favicon.ico", RedirectView.as_view(url=static("shop/windsock.svg"))),
    path("", include("shop.urls")),
]
