"""Changes to a gateway before it serves."""

from dataclasses import replace
from typing import Any

from mcp_proxy_reference.gateway import Gateway


def put(owner: object, **members: Any) -> None:
    """Set attributes of the object itself, where they hide those of its class."""
    for name, value in members.items():
        setattr(owner, name, value)


def decide(gateway: Gateway, **members: Any) -> None:
    """Replace members of this gateway's policy; those of other gateways stay."""
    gateway.policy = replace(gateway.policy, **members)


def own(owner: object, name: str) -> Any:
    """Return a private attribute, for a caller that wraps it and sets it with `put`."""
    return getattr(owner, name)
