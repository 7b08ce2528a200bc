"""How a process ends."""

from __future__ import annotations

from typing import NamedTuple


class Verdict(NamedTuple):
    """With what code to exit, and whether threads are left that an ordinary exit would wait for."""

    code: int
    is_hung: bool
