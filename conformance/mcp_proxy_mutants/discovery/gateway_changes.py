"""Helpers that change a proxy's gateway (its state) before it serves: attributes, decisions."""

from dataclasses import replace
from typing import Any

from mcp_proxy_reference.gateway import Gateway


def put(owner: object, **members: Any) -> None:
    """Set attributes on the object itself, by name, so that they hide those of its class."""
    for name, value in members.items():
        setattr(owner, name, value)


def decide(gateway: Gateway, **members: Any) -> None:
    """Replace members (decisions) of this gateway's policy, by name; other gateways keep theirs."""
    gateway.policy = replace(gateway.policy, **members)


def own(owner: object, name: str) -> Any:
    """Return an attribute of the object by name, for private ones.

    The caller wraps it and sets it with `put`.
    """
    return getattr(owner, name)
