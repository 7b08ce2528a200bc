"""How several processes share the tests out: xdist's scheduler, and what is begun first."""

from __future__ import annotations

import re
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

PLANS = re.compile(r"test_plans\.py::.*\[(wheel|system)-")  # a server is loaded once, whatever it is asked
LONG = {  # files whose single tests take longest: none of them is begun while the others have no more to do
    "test_claim_limits.py",
    "test_counts_in_flight.py",
    "test_cursors.py",
    "test_engine_kill_matrix.py",
    "test_example_project.py",
    "test_unreachable.py",
}


class Shares(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Each test goes to who is free; what asks one server for its plans stays together."""

    def _split_scope(self, nodeid: str) -> str:
        asked = PLANS.search(nodeid)
        return asked[1] if asked else nodeid


def is_short(path: Path) -> bool:
    return path.name not in LONG
