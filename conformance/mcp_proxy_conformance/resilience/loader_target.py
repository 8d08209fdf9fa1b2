"""A loader in the place of a target, and what it declares laid into the cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.load_case import Behaviour, LoadCase
from mcp_proxy_conformance.resilience.embedded import Changed, EmbeddedLoader, LoaderHost
from mcp_proxy_conformance.resilience.loading import Loader, LoaderProgram
from mcp_proxy_conformance.resilience.walk import SIGNATURE, Reads, walk
from mcp_proxy_conformance.targets.adapter import AdapterError, Target
from mcp_proxy_conformance.targets.description import OF_LOADERS
from mcp_proxy_conformance.wire.held import Held

SERVER_ID = "{server_id}"
"""In a declared prefix, the id of the tool's server."""
_UNFIT = re.compile(r"[^A-Za-z0-9]+")


def signed(case: LoadCase, signatures: Sequence[str]) -> dict[str, LoadCase]:
    """The case once for each signature that its bodies ask for; as it is under "" if for none."""
    if not any(SIGNATURE in (one.body or "") for own in case.given.servers for one in own.script):
        return {"": case}
    return {
        signature: _with(case, f"{case.id}-{number}", signature)
        for number, signature in enumerate(signatures, 1)
    }


def _with(case: LoadCase, name: str, signature: str) -> LoadCase:
    def served(one: Behaviour) -> Behaviour:
        body = one.body and one.body.replace(SIGNATURE, signature)
        return msgspec.structs.replace(one, body=body)

    servers = tuple(
        msgspec.structs.replace(own, script=tuple(map(served, own.script)))
        for own in case.given.servers
    )
    given = msgspec.structs.replace(case.given, servers=servers)
    return msgspec.structs.replace(case, id=name, given=given)


def overtaken(case: LoadCase, signatures: tuple[str, ...]) -> str:
    """The server of which a declared signature makes something else than the case says, or ""."""
    if any("T4.declared" in clause for clause in case.clauses):
        return ""
    most, reads = case.given.max_attempts, Reads(signatures=signatures)
    return next(
        (
            one.server_id
            for one in case.given.servers
            if walk(one, most).ends != walk(one, most, reads=reads).ends
        ),
        "",
    )


def are_tools_of(
    server_id: str, told: Iterable[object], listed: Sequence[str], prefix: str
) -> bool:
    """Whether these are the listed names, each behind the declared prefix or as it was listed."""
    names = [str(one) for one in told]
    before = re.compile(_pattern(prefix, server_id))
    bare = [_without(before, one, listed) for one in names]
    plain = [one if one in listed else _without(before, one, listed) for one in names]
    return sorted(listed) in (sorted(bare), sorted(plain))


def _without(before: re.Pattern[str], name: str, listed: Sequence[str]) -> str:
    ends = [one for one in listed if name.endswith(one)]
    return next((one for one in ends if before.fullmatch(name[: len(name) - len(one)])), name)


def _pattern(prefix: str, server_id: str) -> str:
    """Of an id the letters and digits count; what is unfit for a tool's name is often replaced."""
    parts = [re.escape(one) for one in _UNFIT.split(server_id)]
    return "[^A-Za-z0-9]*".join(parts).join(re.escape(one) for one in prefix.split(SERVER_ID))


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
    loader = partial(LoaderProgram, command, held=Held())
    return loader_target(loader, capabilities, command=tuple(command), **declared)


def embedded_target(
    changed: Changed, lacks: Iterable[str] = (), *, patience: float = 1.0, **members: Any
) -> LoaderTarget:
    """A changed loader in this process, which declares to do all but what it lacks."""
    host, can = LoaderHost(), set(OF_LOADERS).difference(lacks)

    def make(folder: Path) -> Loader:
        del folder
        return EmbeddedLoader(changed, host, patience=patience)

    return loader_target(make, can, close=host.close, **members)
