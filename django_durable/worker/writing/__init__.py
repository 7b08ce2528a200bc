"""Writes that many slots wait for, sent together.

`recording` takes them, `lane` keeps them in line and tells bad ones apart, `batch` decides which go together,
`aside` keeps those whose rows others hold.
"""

from __future__ import annotations
