"""Bulk imports of the public catalogue file."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class CatalogueImport(models.Model):
    """One import of the catalogue file. Its `shop.import_catalogue` workflow does it chunk by chunk."""

    version = models.CharField(max_length=20, help_text="Release of the data file.")
    rows_total = models.PositiveIntegerField()
    rows_done = models.PositiveIntegerField(default=0)
    chunk_size = models.PositiveIntegerField(default=500)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"Import {self.pk} of {self.version}"

    def get_absolute_url(self) -> str:
        return reverse("shop:import", args=[self.pk])

    @property
    def workflow_id(self) -> str:
        return f"import-{self.pk}"

    @property
    def percent(self) -> int:
        return 100 * self.rows_done // max(self.rows_total, 1)

    @property
    def chunks(self) -> list[range]:
        """The rows of each step, as ranges of places in the file."""
        size = self.chunk_size
        return [range(start, min(start + size, self.rows_total)) for start in range(0, self.rows_total, size)]


class ImportedRow(models.Model):
    """One line of the file as one import brought it in.

    Not unique per line on purpose: a chunk that took effect twice would show here as doubled lines.
    """

    catalogue_import = models.ForeignKey(CatalogueImport, models.CASCADE, related_name="rows")
    line = models.PositiveIntegerField()
    sku = models.CharField(max_length=8)

    def __str__(self) -> str:
        return f"{self.line}: {self.sku}"
