"""The endpoint that the environment names, for runs under plain pytest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcp_proxy_conformance.discovery.live.endpoint import (
    BadEndpoint,
    Endpoint,
    headers_of,
    place_named,
    secrets,
)
from mcp_proxy_conformance.discovery.live.locks_file import read_locks
from mcp_proxy_conformance.targets.kinds import surface_in

URL, HEADERS = "MCP_PROXY_CONFORMANCE_URL", "MCP_PROXY_CONFORMANCE_HEADERS"
EXPECT, FILE = "MCP_PROXY_CONFORMANCE_EXPECT", "MCP_PROXY_CONFORMANCE_TARGET_FILE"


def in_environment(environment: Mapping[str, str]) -> Endpoint | None:
    """The endpoint, its headers one a line, its locks and its target file; None without a URL.

    Raises:
        BadEndpoint: One of them cannot be used; the sentence says which variable.
        BadTarget: Nor can the target file.
    """
    told = environment.get(URL, "").strip()
    if not told:
        return None
    try:
        url, own = place_named(told)
    except BadEndpoint as error:
        raise BadEndpoint(str(error).replace("--url", URL)) from None
    headers = own | headers_of(environment.get(HEADERS, "").splitlines(), HEADERS)
    file, locks = environment.get(FILE), environment.get(EXPECT)
    surface, pins, given = surface_in(Path(file) if file else None)
    return Endpoint(
        url=url,
        headers=headers,
        surface=surface,
        listing=given,
        pins=pins,
        file=Path(file) if file else None,
        expect=read_locks(Path(locks)) if locks else {},
        secrets=frozenset(secrets(told, [headers], environment)),
    )
