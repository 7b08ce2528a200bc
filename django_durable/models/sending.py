"""Several statements in one text, each planned as it needs to be, and where their answers are found.

Statements of UNSORTED read in the order of an index and of nothing else, whatever the statistics say. Under a
pinned horizon these say that a line has no rows, or a table none: then reading all of it and sorting costs as
much, on paper, as reading the first few in index order, and chance decides. With sorts forbidden there is
nothing left to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from django_durable.models.plans import Texts

UNSORTED = frozenset({"claim_behind", "read_behind", "read_floors", "read_tail", "walk_places", "walk_ranks"})
_PARAMETER = re.compile(r"%\((?=\w+\)s)")


class Sending(NamedTuple):
    """A text, and which of its answers are those of the statements that were asked."""

    text: str
    answers: tuple[int, ...]


@lru_cache(maxsize=512)
def compose(names: tuple[str, ...], texts: Texts, *, is_transaction: bool) -> Sending:
    """The statements in a row, the parameters of each under the names that `parameters` gives them.

    What is set for them is put back, unless the text `is_transaction`, all of one: then that ends with it.
    """
    plan_in_general, plan_as_before, forbid_sorts, allow_sorts = texts.settings
    parts = [plan_in_general] * texts.uses_plans
    answers = []
    is_forbidden = False
    for place, (name, text) in enumerate(zip(names, texts.statements, strict=True)):
        if is_forbidden != (name in UNSORTED):
            parts.append(allow_sorts if is_forbidden else forbid_sorts)
            is_forbidden = not is_forbidden
        answers.append(len(parts))
        parts.append(_PARAMETER.sub(f"%({place}_", text))
    if not is_transaction:
        parts += [allow_sorts] * is_forbidden + [plan_as_before] * texts.uses_plans
    return Sending(";\n".join(parts), tuple(answers))


def parameters(given: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Those of several statements, each under a name of its own."""
    return {f"{place}_{name}": value for place, params in enumerate(given) for name, value in params.items()}
