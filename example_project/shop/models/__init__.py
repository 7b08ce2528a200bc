"""The shop's tables, one noun a file."""

from __future__ import annotations

from shop.models.body_run import BodyRun
from shop.models.catalogue_import import CatalogueImport, ImportedRow
from shop.models.order import Order, OrderLine
from shop.models.payment import Payment
from shop.models.product import Product
from shop.models.shipment import Shipment
from shop.models.stock import Stock, StockMovement

__all__ = [
    "BodyRun",
    "CatalogueImport",
    "ImportedRow",
    "Order",
    "OrderLine",
    "Payment",
    "Product",
    "Shipment",
    "Stock",
    "StockMovement",
]
