"""Brings lines of the catalogue file into the shop's tables."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import F
from django.db.models.functions import Now

from shop import catalogue, warehouse
from shop.models import CatalogueImport, ImportedRow, Product

PUBLIC = list(catalogue.Row._fields)  # what the file says; a price that the shop has changed stays


class CatalogueChanged(Exception):
    """Another release of the data file is installed than the one this import began with."""


def shelve(rows: Iterable[catalogue.Row]) -> None:
    """Add these prints, or refresh what the file says of those that are there."""
    Product.objects.bulk_create(
        [Product(**row._asdict(), price=row.price) for row in sorted(rows)],  # one order of locks for all
        update_conflicts=True,
        unique_fields=["sku"],
        update_fields=[field for field in PUBLIC if field != "sku"],
    )


def bring_in(catalogue_import: CatalogueImport, chunk: range) -> int:
    """Bring in one chunk of the file and count it; return how many rows. To be run in one transaction."""
    if catalogue.release() != catalogue_import.version:
        raise CatalogueChanged(
            f"import {catalogue_import.pk} began with {catalogue.SOURCE} {catalogue_import.version},"
            f" now {catalogue.release()} is installed: start a new import"
        )
    rows = catalogue.rows()[chunk.start : chunk.stop]
    shelve(rows)
    ImportedRow.objects.bulk_create(
        ImportedRow(catalogue_import=catalogue_import, line=line, sku=row.sku)
        for line, row in zip(chunk, rows, strict=True)
    )
    CatalogueImport.objects.filter(pk=catalogue_import.pk).update(rows_done=F("rows_done") + len(rows))
    return len(rows)


def finish(catalogue_import: CatalogueImport) -> None:
    """Close the import."""
    CatalogueImport.objects.filter(pk=catalogue_import.pk).update(finished_at=Now())


def dress_window(least_on_hand: int) -> list[Product]:
    """Put the shop window's prints on sale, with at least so many of each on the shelf, and return them."""
    lines = catalogue.window()
    shelve(lines)
    for place, line in enumerate(lines, start=1):
        Product.objects.filter(sku=line.sku).update(window=place)
    products = list(Product.objects.filter(window__isnull=False).select_related("stock").order_by("window"))
    for product in products:
        missing = least_on_hand - (product.stock.on_hand if hasattr(product, "stock") else 0)
        if missing > 0:
            warehouse.receive(product, missing)
    return products
