"""Measure: python -m tests.benchmarks NAME [--quick] [--rows N] [--json FILE] [--postgres embedded|system]"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

BENCHMARKS = ("claim", "load", "pinned", "sleepers", "workflows")
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    given = arguments()
    sys.path.insert(0, str(ROOT / "example_project"))
    from tests.benchmarks import server

    os.environ["DATABASE_URL"] = server.start(given.postgres)
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    set_up()
    benchmark = import_module(f"tests.benchmarks.{given.benchmark}")
    sizes = {"sizes": (given.rows,)} if given.rows else {}
    benchmark.run(given.quick, tuple(given.only), **sizes).write(given.json)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("benchmark", choices=BENCHMARKS)
    parser.add_argument("only", nargs="*", help="names of data sets or shapes; all of them if none is given")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: minutes, not an hour")
    parser.add_argument("--rows", type=int, help="claim alone: this many rows instead of the usual sizes")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--postgres", choices=("embedded", "system"), default="embedded")
    return parser.parse_args()


def set_up() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


if __name__ == "__main__":
    main()
