"""Whether this machine can play a name that does not resolve."""

from __future__ import annotations

import socket
from functools import cache

NOBODY = "nobody.invalid"
"""A host that no resolver may know (RFC 6761)."""
_NO_SUCH_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


@cache
def unresolvable(host: str = NOBODY) -> str | None:
    """Why the name cannot be trusted to be unknown here, or None; it may take the resolver's time.

    A machine that answers every name leads a loader to a stranger; one without a resolver says
    "try again", which is no verdict on the name.
    """
    try:
        socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            return None
        return f"this machine cannot tell whether {host} exists: {error.strerror}"
    return f"this machine answers the name {host}, which nobody may own"
