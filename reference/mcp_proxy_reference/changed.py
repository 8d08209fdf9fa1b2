"""A proxy that is like the reference but for one thing: a fault, or a fair other reading."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
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
class Changed:
    """A changed proxy: `id`, and one sentence on what it does.

    `change` replaces members of `Policy`; `swap` changes a gateway before it serves, where the
    change lies outside of the decisions: in its store, search, configuration or upstreams.
    """

    id: str
    text: str
    change: Mapping[str, Any] = field(default_factory=dict)
    swap: Swap | None = None

    def policy(self) -> Policy:
        """The decisions of a proxy that is started now."""
        return replace(Policy(), **fresh(self.change))


def fresh(change: Mapping[str, Any]) -> dict[str, Any]:
    """The members to replace, those that remember something made anew."""
    return {
        name: value.make() if isinstance(value, Fresh) else value for name, value in change.items()
    }


def gathered(package: str, path: Sequence[str], member: str) -> tuple[Any, ...]:
    """What the modules of a package have under that name, in order of module."""
    found = sorted(one.name for one in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package}.{name}") for name in found]
    return tuple(one for module in modules for one in getattr(module, member, ()))
