"""Changes to a gateway before it serves."""

from dataclasses import replace
from typing import Any

from mcp_proxy_reference.gateway import Gateway


def put(owner: object, **members: Any) -> None:
    """Set members of one object, in place of those of its class."""
    for name, value in members.items():
        setattr(owner, name, value)


def decide(gateway: Gateway, **members: Any) -> None:
    """Replace decisions of a gateway by ones that are bound to it."""
    gateway.policy = replace(gateway.policy, **members)


def own(owner: object, name: str) -> Any:
    """Return a private member of an owner, to be wrapped and put back."""
    return getattr(owner, name)
