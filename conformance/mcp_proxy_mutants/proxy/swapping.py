"""How a gateway is changed before it serves."""

from dataclasses import replace
from typing import Any

from mcp_proxy_reference.gateway import Gateway


def put(owner: object, **members: Any) -> None:
    """Give one object members of its own, in the place of those of its class."""
    for name, value in members.items():
        setattr(owner, name, value)


def decide(gateway: Gateway, **members: Any) -> None:
    """Replace decisions of a gateway by ones that know it."""
    gateway.policy = replace(gateway.policy, **members)


def own(owner: object, name: str) -> Any:
    """A member that is the owner's own business, to be wrapped and put back."""
    return getattr(owner, name)
