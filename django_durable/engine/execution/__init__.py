"""One execution of one run, from its claim to its outcome.

To begin with: `runner` admits a run, `executions` reads its history and has `bodies` call the body, and
`outcomes` says what an error makes of the run. A durable call is an operation (`operations`), which `drive`
takes to its end; `steps`, `effects` and `patches` are kinds of calls, `context` is what each finds.
What comes of one is a value (`writes`) that a `recorder` sends, or for many runs at once `batches`. What may
come between are `outages`, `conflicts`, and other executions (`ownership`).
"""

from __future__ import annotations
