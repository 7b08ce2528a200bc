"""What goes in and out of a run while it lives: messages, events, streams."""

from __future__ import annotations
