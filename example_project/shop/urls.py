"""The shop's pages."""

from __future__ import annotations

from django.urls import path

from shop import views

app_name = "shop"

urlpatterns = [
    path("", views.home, name="home"),
    path("prints/<str:sku>/", views.product, name="product"),
    path("orders/", views.orders, name="orders"),
    path("orders/<int:pk>/", views.order, name="order"),
    path("orders/<int:pk>/progress.json", views.order_progress, name="order-progress"),
    path("imports/", views.imports, name="imports"),
    path("imports/<int:pk>/", views.catalogue_import, name="import"),
    path("imports/<int:pk>/progress.json", views.import_progress, name="import-progress"),
]
