"""A state as a small coloured word; the word alone says it too."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from django_durable.core.states import LABELS, PARKED, Status

TONES = {
    Status.DELAYED: "idle",
    Status.ENQUEUED: "idle",
    Status.PENDING: "busy",
    Status.WAITING: "busy",
    Status.SUCCESS: "good",
    Status.ERROR: "bad",
    Status.CANCELLED: "quiet",
    PARKED: "bad",
}


def chip(word: str, tone: str) -> SafeString:
    return format_html('<span class="durable-chip durable-{}">{}</span>', tone, word)


def status_chip(status: str) -> SafeString:
    known = status in LABELS
    return chip(LABELS[Status(status)], TONES[Status(status)]) if known else chip(status, "quiet")
