"""A loader in the place of a target: a program, or a changed one in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.load_case import LoadCase
from mcp_proxy_conformance.resilience.embedded import Changed, EmbeddedLoader, LoaderHost
from mcp_proxy_conformance.resilience.loading import Loader, LoaderProgram
from mcp_proxy_conformance.targets.adapter import AdapterError, Target
from mcp_proxy_conformance.targets.description import OF_LOADERS

EXAMPLES = 30
"""How many loads are generated if nothing else is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderTarget(Target):
    """A loader in the place of a target; `loader` makes one that keeps its log in a folder.

    What it declares: the prefix of the names that it gives to tools, in which `{server_id}` is the
    id of the tool's server, and the texts that it takes for a timeout in the body of a 403. What is
    asked for besides: how many loads are generated, from which seed, and one load case, if it alone
    is to be tried.
    """

    loader: Callable[[Path], Loader]
    tool_prefix: str = ""
    timeout_signatures: tuple[str, ...] = ()
    examples: int = EXAMPLES
    seed: int = 0
    case: LoadCase | None = None


def loader_target(
    loader: Callable[[Path], Loader], capabilities: Iterable[str] = OF_LOADERS, **members: Any
) -> LoaderTarget:
    """A target whose loader is made so."""

    def none() -> Any:
        raise AdapterError("a loader has no stages")

    can = frozenset(capabilities)
    return LoaderTarget(kind="loader", make=none, capabilities=can, loader=loader, **members)


def program_target(
    command: Sequence[str], capabilities: Iterable[str], **declared: Any
) -> LoaderTarget:
    """A loader program that is started by that command."""
    return loader_target(partial(LoaderProgram, command), capabilities, **declared)


def embedded_target(
    changed: Changed, lacks: Iterable[str] = (), *, patience: float = 1.0, **members: Any
) -> LoaderTarget:
    """A changed loader in this process, which declares to do all but what it lacks."""
    host, can = LoaderHost(), set(OF_LOADERS).difference(lacks)

    def make(folder: Path) -> Loader:
        del folder
        return EmbeddedLoader(changed, host, patience=patience)

    return loader_target(make, can, close=host.close, **members)
