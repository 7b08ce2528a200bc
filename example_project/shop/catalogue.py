"""The public data behind the prints: `airports.csv` of the package airportsdata, read once a process.

Codes, names and places are the file's; the prices are the shop's.
"""

from __future__ import annotations

import csv
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import NamedTuple

SOURCE = "airportsdata"

# the shop window: IATA codes, in the order shown
WINDOW = """
    LHR JFK HND CDG SIN SYD GIB SXM LUA BRR KEF CPT
    SFO DXB AMS HKG GIG YVR ZRH NBO MAD FRA LAX EZE
"""


class Row(NamedTuple):
    """One line of the file."""

    sku: str
    iata: str
    name: str
    city: str
    region: str
    country: str
    latitude: float
    longitude: float
    elevation: int
    time_zone: str

    @property
    def price(self) -> Decimal:
        return Decimal("34.00") if self.iata else Decimal("24.00")


def release() -> str:
    """Which release of the file is installed."""
    return version(SOURCE)


@cache
def rows() -> tuple[Row, ...]:
    """Every line of the file, in its order."""
    with files(SOURCE).joinpath("airports.csv").open(encoding="utf-8") as file:
        return tuple(_row(line) for line in csv.DictReader(file))


def window() -> list[Row]:
    """The lines of the shop window, in the order shown."""
    by_code = {row.iata: row for row in rows() if row.iata}
    return [by_code[code] for code in WINDOW.split() if code in by_code]


def _row(line: dict[str, str]) -> Row:
    return Row(
        sku=line["icao"],
        iata=line["iata"],
        name=line["name"],
        city=line["city"],
        region=line["subd"],
        country=line["country"],
        latitude=float(line["lat"]),
        longitude=float(line["lon"]),
        elevation=round(float(line["elevation"])),
        time_zone=line["tz"],
    )
