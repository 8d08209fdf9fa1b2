"""Numbers that bear a status word, wherever a listing tells them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mcp_proxy_conformance.catalogue.surface import STATUSES, Members
from mcp_proxy_conformance.discovery.answer import Listing


def status_numbers(value: Any) -> Iterator[tuple[str, int]]:
    """Each such member of a JSON value, at any depth, as its word and its number."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in STATUSES and isinstance(inner, int):
                yield name, inner
            yield from status_numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from status_numbers(inner)


def outside_entries(listing: Listing, members: Members) -> Iterator[tuple[str, int]]:
    """Those that stand beside the servers of a listing, not in their entries."""
    if listing.servers:
        body: dict[str, Any] = json.loads(listing.reply.text)
        yield from status_numbers({k: v for k, v in body.items() if k != members.servers})
