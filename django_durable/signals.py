"""Django signals that other apps connect to.

The first group is sent with `send_robust` after the fact: a receiver's error is logged and contained.
`transition` is sent inside the transaction that makes a claim (`verb="claim"`, sender `core.run.Run`) or
writes how an execution ended (`verb="settle"`, sender `WorkflowStatus`), with the run as `run`; for an
outcome that is the row as it is then. A receiver that raises rolls that transaction back; the claim, or that
one outcome, is tried again later. While anybody listens to settles, each outcome has a transaction of its
own. It is not sent for what ends a run from outside of its execution: cancel(), deadlines, expiry.
"""

from __future__ import annotations

from django.dispatch import Signal

workflow_enqueued = Signal()
workflow_started = Signal()
workflow_finished = Signal()
workflow_retrying = Signal()
step_finished = Signal()
queue_paused = Signal()
executor_lost = Signal()

transition = Signal()
