"""The host name of a server that nobody can reach, and whether this machine resolves it."""

from __future__ import annotations

import socket
from functools import cache

NOBODY = "nobody.invalid"
"""A host that no resolver may resolve (RFC 6761)."""
_NO_SUCH_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


@cache
def why_resolvable() -> str | None:
    """Return why NOBODY may resolve here, None if it certainly does not; asks the resolver once.

    A machine that resolves every name leads a loader to an unknown host; one without a resolver
    says "try again", which is not a verdict on the name.
    """
    try:
        socket.getaddrinfo(NOBODY, 80, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            return None
        return f"this machine cannot find out whether {NOBODY} exists: {error.strerror}"
    return f"this machine resolves the name {NOBODY}, which must not exist"
