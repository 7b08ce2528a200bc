"""The shop's tables in the admin, beside the workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from shop.models import (
    BodyRun,
    CatalogueImport,
    Order,
    OrderLine,
    Payment,
    Product,
    Shipment,
    Stock,
    StockMovement,
)

if TYPE_CHECKING:
    Admin = admin.ModelAdmin[Model]
    Lines = admin.TabularInline[OrderLine, Order]
else:
    Admin, Lines = admin.ModelAdmin, admin.TabularInline


class ReadOnly(Admin):
    """What only workflows write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Product)
class ProductAdmin(Admin):
    list_display = ["code", "name", "city", "country", "price", "window"]
    list_filter = [("window", admin.EmptyFieldListFilter), ("iata", admin.EmptyFieldListFilter)]
    search_fields = ["=sku", "=iata", "name", "city"]
    show_full_result_count = False


class OrderLineInline(Lines):
    model = OrderLine
    extra = 0
    raw_id_fields = ["product"]


@admin.register(Order)
class OrderAdmin(ReadOnly):
    list_display = ["number", "email", "state", "total", "created_at"]
    list_filter = ["state", "card"]
    search_fields = ["=id", "email"]
    inlines = [OrderLineInline]


@admin.register(Stock)
class StockAdmin(ReadOnly):
    list_display = ["product", "on_hand"]
    list_select_related = ["product"]


@admin.register(StockMovement)
class StockMovementAdmin(ReadOnly):
    list_display = ["created_at", "product", "quantity", "reason", "order"]
    list_filter = ["reason"]
    list_select_related = ["product", "order"]


@admin.register(Payment)
class PaymentAdmin(ReadOnly):
    list_display = ["reference", "order_number", "amount", "requests", "created_at"]
    search_fields = ["=order_number"]


@admin.register(Shipment)
class ShipmentAdmin(ReadOnly):
    list_display = ["tracking_number", "order", "payment_reference", "created_at"]
    list_select_related = ["order"]


@admin.register(CatalogueImport)
class CatalogueImportAdmin(ReadOnly):
    list_display = ["pk", "version", "rows_done", "rows_total", "created_at", "finished_at"]


@admin.register(BodyRun)
class BodyRunAdmin(ReadOnly):
    list_display = ["began_at", "workflow_id", "step", "part", "pid"]
    search_fields = ["=workflow_id"]
    list_filter = ["step"]
