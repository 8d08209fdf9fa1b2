"""Mutants that answer a body that is not a JSON-RPC request with an HTML page or a stack trace."""

from __future__ import annotations

import json

from mcp_proxy_conformance.discovery.selftest.exchange import WireFault, dump

DEEP = 10_000
PAGE = b"<!doctype html><title>Error</title><h1>Internal Server Error</h1>"
TRACE = (
    'Traceback (most recent call last):\n  File "/srv/proxy/front.py", line 7, in parse\nValueError'
)


def _page(body: bytes) -> tuple[int, str, bytes] | None:
    """Answer a body that is not JSON with HTTP 500 and an HTML page; None for other bodies.

    The answer is (status, media type, body).
    """
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return 500, "text/html", PAGE
    return None


def _trace(body: bytes) -> tuple[int, str, bytes] | None:
    """Answer a body that begins with `[`, as a list does, with HTTP 500 and a traceback.

    The answer is (status, media type, body); None for other bodies, and those over 10,000 bytes.
    """
    if not body.startswith(b"[") or len(body) > DEEP:
        return None
    error = {"code": -32603, "message": TRACE}
    message = dump({"jsonrpc": "2.0", "id": None, "error": error})
    return 500, "application/json", message.encode()


FAULTS = (
    WireFault(
        id="broken-body-is-a-page",
        text="A body that is not JSON is answered with an HTML page and HTTP 500.",
        breaks=("ROB.message",),
        unread=_page,
    ),
    WireFault(
        id="list-body-breaks",
        text="A request body that is a list is answered with a stack trace.",
        breaks=("ROB.message",),
        unread=_trace,
    ),
)
