"""Django signals that other apps connect to.

`workflow_enqueued` and `executor_lost` are sent with `send_robust`, once it is so: a receiver's error is
logged and contained. An enqueue may still be rolled back with its transaction.

`transition` is sent once for each verb of `core.states.TRANSITIONS` that is done to a run, inside the
transaction that does it: `run` is the run as it is then, `verb` the verb. A claim has the sender
`core.run.Run` and gives that; all else has the sender `WorkflowStatus` and gives the row. The verb of an
outcome is "settle".
A run that is put in line for the first time, or deleted, changes no status and is not told of.

A receiver that raises undoes the change. A verb that somebody called raises `exceptions.Refused`; a
claim, an outcome, a wait or what maintenance does is tried again later, and holds up no other run but those
that the same claim took. While anybody listens, each outcome has a transaction of its own.
"""

from __future__ import annotations

from django.dispatch import Signal

workflow_enqueued = Signal()
executor_lost = Signal()

transition = Signal()
