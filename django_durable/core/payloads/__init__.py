"""Values and errors as text, and back, without loss."""

from __future__ import annotations
