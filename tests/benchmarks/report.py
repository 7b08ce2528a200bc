"""What a benchmark found: a Markdown table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection

from tests.benchmarks.server import machine


@dataclass
class Report:
    benchmark: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    started_on: str = field(default_factory=machine)

    def add(self, measure: str, value: float, unit: str, **parameters: Any) -> None:
        row = {**parameters, "measure": measure, "value": round(value, 3), "unit": unit}
        self.rows.append(row)
        print("  ", *(f"{name}={found}" for name, found in row.items()), flush=True)

    def write(self, path: str | None) -> None:
        """Print the table; write the JSON if there is a path for it."""
        print(f"\n{self.benchmark}: {self.started_on}; PostgreSQL {postgres_version()}\n")
        print(markdown(self.rows))
        if path:
            Path(path).write_text(json.dumps(self.as_json(), indent=1) + "\n")

    def as_json(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark,
            "machine": self.started_on,
            "postgres": postgres_version(),
            "rows": self.rows,
        }


def postgres_version() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return str(cursor.fetchone()[0])


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    body = [[_cell(row.get(name, "")) for name in names] for row in rows]
    return "\n".join(_line(cells) for cells in [names, ["---"] * len(names), *body])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
