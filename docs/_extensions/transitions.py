"""Directive `transitions`: the table of verbs and statuses, read from the code that enforces it."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst.states import RSTState
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from django_durable.core.states import LABELS, TRANSITIONS, Status


class Transitions(SphinxDirective):
    state: RSTState

    def run(self) -> list[nodes.Node]:
        rows = ["| verb | from | to |", "|---|---|---|", *map(_row, TRANSITIONS)]
        container = nodes.container()
        self.state.nested_parse(StringList(rows, source="django_durable/core/states.py"), 0, container)
        return container.children


def _row(verb: str) -> str:
    sources, target = TRANSITIONS[verb]
    from_ = ", ".join(LABELS[status] for status in Status if status in sources)
    return f"| {verb} | {from_} | {LABELS[target]} |"


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_directive("transitions", Transitions)
    return {"parallel_read_safe": True}
