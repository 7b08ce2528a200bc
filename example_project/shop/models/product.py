"""What is for sale: a print of an airport."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.urls import reverse


class ProductQuerySet(models.QuerySet["Product"]):
    """Finding prints."""

    def matching(self, words: str) -> ProductQuerySet:
        """Prints whose codes, name or place hold every one of `words`."""
        found = self
        for word in words.split():
            found = found.filter(
                Q(name__icontains=word) | Q(city__icontains=word) | Q(iata__iexact=word) | Q(sku__iexact=word)
            )
        return found

    def in_shop_order(self) -> ProductQuerySet:
        """The shop window first, then airports with a code that travellers know, then the rest."""
        return self.order_by(models.F("window").asc(nulls_last=True), "-has_iata", "name", "pk")


class Product(models.Model):
    """One print for sale: the airport it shows, as the public file describes it, and the shop's price."""

    sku = models.CharField("article number", max_length=8, unique=True, help_text="The airport's ICAO code.")
    iata = models.CharField("IATA code", max_length=3, blank=True)
    has_iata = models.GeneratedField(
        expression=models.ExpressionWrapper(~Q(iata=""), models.BooleanField()),
        output_field=models.BooleanField(),
        db_persist=True,
        verbose_name="has IATA code",
    )
    name = models.CharField(max_length=100)
    city = models.CharField(max_length=80, blank=True)
    region = models.CharField(max_length=80, blank=True)
    country = models.CharField(max_length=2)
    latitude = models.FloatField()
    longitude = models.FloatField()
    elevation = models.IntegerField(help_text="Feet above the sea.")
    time_zone = models.CharField(max_length=40, blank=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    window = models.PositiveSmallIntegerField("place in the shop window", null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ProductQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                models.F("window").asc(nulls_last=True),
                models.F("has_iata").desc(),
                "name",
                "id",
                name="shop_product_shop_order",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.name}"

    def get_absolute_url(self) -> str:
        return reverse("shop:product", args=[self.sku])

    @property
    def code(self) -> str:
        """The code that stands large on the print."""
        return self.iata or self.sku

    @property
    def place(self) -> str:
        """Town and region as one line, without repeating a name."""
        return ", ".join(dict.fromkeys(part for part in (self.city, self.region) if part))

    @property
    def band(self) -> str:
        """Which colours the print has: by how far north or south."""
        if abs(self.latitude) > 58:
            return "polar"
        if abs(self.latitude) < 24:
            return "tropic"
        return "north" if self.latitude > 0 else "south"

    @property
    def map_x(self) -> int:
        """Where the airport lies on a map 240 wide, from the left."""
        return round((self.longitude + 180) / 360 * 240)

    @property
    def map_y(self) -> int:
        """Where the airport lies on a map 160 high, from the top."""
        return round((90 - self.latitude) / 180 * 160)
