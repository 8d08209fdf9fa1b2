"""One fault: a proxy that is like the reference but for one thing, and the clauses that breaks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import Policy

Swap = Callable[[Gateway], None]


@dataclass(frozen=True, slots=True)
class Fresh:
    """A member that remembers something: it is made anew whenever a proxy is started."""

    make: Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A changed proxy; `breaks` are ids of clauses, at least one of which a check must find broken.

    `change` replaces members of `Policy`; `swap` changes a gateway before it serves, where a fault
    lies outside of the decisions: in its store, its search, its configuration or its upstreams.
    """

    id: str
    text: str
    breaks: tuple[str, ...]
    change: Mapping[str, Any] = field(default_factory=dict)
    swap: Swap | None = None

    def policy(self) -> Policy:
        """The decisions of a proxy that is started now."""
        made = {
            name: value.make() if isinstance(value, Fresh) else value
            for name, value in self.change.items()
        }
        return replace(Policy(), **made)


def fault(name: str, text: str, *breaks: str, swap: Swap | None = None, **change: Any) -> Fault:
    """A fault in one line: its id, what it does, what it breaks, and the members it replaces."""
    return Fault(id=name, text=text, breaks=breaks, change=change, swap=swap)
