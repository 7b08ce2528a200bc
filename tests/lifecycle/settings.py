"""The host project as the tests' worker processes see it: with a short lease, so that a takeover is quick."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403 (settings are read by name)

LEASE = float(os.environ.get("DURABLE_LEASE", "2"))
SUSPEND_AFTER = float(os.environ.get("DURABLE_SUSPEND_AFTER", "2"))
DURABLE = {"LEASE": LEASE, "POLL_INTERVAL": 0.2, "SUSPEND_AFTER": SUSPEND_AFTER}
