"""Every error of the package, to be imported from here.

`DurableError` is the root of those that a caller may catch, `ControlFlow` of those that unwind a body.
"""

from __future__ import annotations

from django_durable.exceptions.controlflow import *  # noqa: F403
from django_durable.exceptions.errors import *  # noqa: F403
from django_durable.exceptions.misplaced import *  # noqa: F403

for _error in list(globals().values()):
    if isinstance(_error, type) and issubclass(_error, BaseException):
        _error.__module__ = __name__  # as tracebacks and records name it
