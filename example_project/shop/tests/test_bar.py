"""The demo's progress bar, on a terminal and elsewhere."""

from __future__ import annotations

import io

from django.core.management.base import OutputWrapper
from django.test import SimpleTestCase

from shop.demo.bar import Bar

REDRAWN = "\r\033[K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(out: io.StringIO) -> str:
    """What a bar leaves that goes to the middle, is talked over, and reaches the end."""
    bar = Bar(OutputWrapper(out))
    for share in (0.0, 0.02, 0.5):
        bar.show(share, "rows")
    bar.say("something happened")
    bar.show(1.0, "rows")
    bar.close()
    return out.getvalue()


class BarTests(SimpleTestCase):
    def test_a_terminal_has_one_bar_that_is_drawn_again(self) -> None:
        lines = drawn(Terminal()).split("\n")
        assert lines[0].count(REDRAWN) == 4
        assert lines[0].endswith(f"{REDRAWN}something happened")
        assert lines[1:] == [f"{REDRAWN}  [{'#' * 30}] 100%  rows", ""]

    def test_elsewhere_a_line_is_printed_at_each_tenth(self) -> None:
        assert drawn(io.StringIO()).split("\n") == [
            f"  [{'-' * 30}]   0%  rows",
            f"  [{'#' * 15}{'-' * 15}]  50%  rows",
            "something happened",
            f"  [{'#' * 30}] 100%  rows",
            "",
        ]
