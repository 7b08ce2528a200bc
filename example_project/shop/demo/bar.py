"""A progress bar: redrawn in place on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from django.core.management.base import OutputWrapper

WIDTH = 30
LINES = 10  # how many lines a whole run prints where nothing can be redrawn


class Bar:
    """Draws a share between 0 and 1, and the words beside it."""

    def __init__(self, out: OutputWrapper) -> None:
        self.out = out
        self.is_live = out.isatty()
        self._drawn = -1
        self._is_open = False

    def show(self, share: float, words: str) -> None:
        if self.is_live:
            self.out.write(f"\r\033[K  {_strip(share)} {share:4.0%}  {words}", ending="")
            self.out.flush()
            self._is_open = True
        elif int(share * LINES) > self._drawn:
            self._drawn = int(share * LINES)
            self.say(f"  {_strip(share)} {share:4.0%}  {words}")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._is_open:
            self.out.write("\r\033[K", ending="")
            self._is_open = False
        self.out.write(line + "\n")
        self.out.flush()

    def close(self) -> None:
        """Leave the last state of the bar standing."""
        if self._is_open:
            self.out.write("")
            self._is_open = False


def _strip(share: float) -> str:
    filled = round(share * WIDTH)
    return f"[{'#' * filled}{'-' * (WIDTH - filled)}]"
