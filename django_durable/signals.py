"""Django signals that other apps connect to.

The first group is sent with `send_robust` after the fact: a receiver's error is logged and contained.
`transition` is sent inside the transaction that makes a claim or settles a run; a receiver that raises
rolls that transaction back.
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
