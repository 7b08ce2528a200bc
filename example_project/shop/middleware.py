"""One header: pages may load nothing but the shop's own files, and run no inline script or style."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)

View = Callable[[HttpRequest], HttpResponseBase]


def content_security_policy(get_response: View) -> View:
    """Send `POLICY` with each page but Django's error pages for developers, which style themselves inline."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not (settings.DEBUG and response.status_code in {404, 500}):
            response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return respond
