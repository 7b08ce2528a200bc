"""What ends an execution ends the tasks of its body, and nobody has to look at how those ended.

asyncio logs an error for each task whose exception was never retrieved, when the task is thrown away: often
after the execution, so the loop is told once and for all.
"""

from __future__ import annotations

import asyncio
from typing import Any

from django_durable.exceptions import DeadlinePassed, GivenUp, Superseded, Suspended

ENDS = (DeadlinePassed, GivenUp, Superseded, Suspended)


class QuietAboutEnds:
    """A handler of a loop's complaints, in front of the one that it had."""

    def __init__(self, before: Any) -> None:
        self.before = before

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if _is_an_end(context.get("exception")):
            return
        if self.before is None:
            loop.default_exception_handler(context)
        else:
            self.before(loop, context)


def be_quiet_about_ends(loop: asyncio.AbstractEventLoop) -> None:
    before = loop.get_exception_handler()
    if not isinstance(before, QuietAboutEnds):
        loop.set_exception_handler(QuietAboutEnds(before))


def _is_an_end(error: BaseException | None) -> bool:
    """So is a group of nothing else, as a TaskGroup raises it."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(ENDS)[1] is None
    return isinstance(error, ENDS)
