"""Loader as a run's target, a program or in this process; timeout signatures and tool prefix."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.resilience.embedded import ChangedLoader, EmbeddedLoader, LoaderHost
from mcp_proxy_conformance.resilience.load_case import Behaviour, LoadCase
from mcp_proxy_conformance.resilience.loader import Loader, LoaderProgram
from mcp_proxy_conformance.resilience.loader_description import OF_LOADERS
from mcp_proxy_conformance.resilience.walk import SIGNATURE, Reads, walk
from mcp_proxy_conformance.targets.target import Target
from mcp_proxy_conformance.wire.held_answers import Held

SERVER_ID = "{server_id}"
"""The placeholder, in a declared prefix, for the id of the tool's server."""
_UNFIT = re.compile(r"[^A-Za-z0-9]+")


def signed(case: LoadCase, signatures: Sequence[str]) -> dict[str, LoadCase]:
    """Return the case once for each declared timeout signature, by the signature.

    The signature replaces the placeholder in servers' bodies; {} without any declared. A case
    without the placeholder is returned as it is, under "".
    """
    if not any(SIGNATURE in (act.body or "") for own in case.given.servers for act in own.script):
        return {"": case}
    return {
        signature: _with(case, f"{case.id}-{number}", signature)
        for number, signature in enumerate(signatures, 1)
    }


def _with(case: LoadCase, name: str, signature: str) -> LoadCase:
    """Return the case under id `name`, with the signature for placeholders in servers' bodies."""

    def served(behaviour: Behaviour) -> Behaviour:
        """Return the behaviour with the signature in place of its body's placeholder."""
        body = behaviour.body and behaviour.body.replace(SIGNATURE, signature)
        return msgspec.structs.replace(behaviour, body=body)

    servers = tuple(
        msgspec.structs.replace(own, script=tuple(map(served, own.script)))
        for own in case.given.servers
    )
    given = msgspec.structs.replace(case.given, servers=servers)
    return msgspec.structs.replace(case, id=name, given=given)


def overtaken(case: LoadCase, signatures: tuple[str, ...]) -> str:
    """Return the id of a server whose 403 the loader declares to read as a timeout; else "".

    The case then expects what this loader need not do. "" for a case about declared signatures.
    """
    if not signatures or any("T4.declared" in clause for clause in case.clauses):
        return ""
    most, reads = case.given.max_attempts, Reads(signatures=signatures)
    return next(
        (
            server.server_id
            for server in case.given.servers
            if walk(server, most).ends != walk(server, most, reads=reads).ends
        ),
        "",
    )


def are_tools_of(
    server_id: str, tools: Iterable[object], listed: Sequence[str], prefix: str
) -> bool:
    """Whether these tools are exactly the listed names, in any order, each with or without prefix.

    `{server_id}` in the prefix stands for the id of their server.
    """
    names, known = [str(tool) for tool in tools], {*listed}
    bare = bare_names(server_id, names, listed, prefix)
    plain = [name if name in known else own for name, own in zip(names, bare, strict=True)]
    return sorted(listed) in (sorted(bare), sorted(plain))


def bare_names(
    server_id: str, tools: Iterable[object], listed: Sequence[str], prefix: str
) -> list[str]:
    """Return for each tool the listed name that follows the declared prefix in it; else its own."""
    before, known = re.compile(_pattern(prefix, server_id)), {*listed}
    return [_without(before, str(tool), known) if prefix else str(tool) for tool in tools]


def _without(before: re.Pattern[str], name: str, listed: Collection[str]) -> str:
    """Return the listed name that follows the whole prefix in `name`; else `name` itself.

    `before` matches the prefix.
    """
    ends = (end for at in range(len(name)) if (end := name[at:]) in listed)
    return next((end for end in ends if before.fullmatch(name[: len(name) - len(end)])), name)


def _pattern(prefix: str, server_id: str) -> str:
    """Return a regular expression of the declared prefix, the server's id in its placeholder.

    Where the id has characters other than letters and digits, any such or none match.
    """
    parts = [re.escape(part) for part in _UNFIT.split(server_id)]
    return "[^A-Za-z0-9]*".join(parts).join(re.escape(part) for part in prefix.split(SERVER_ID))


EXAMPLES = 0
"""The default number of scenarios that are generated beyond the covering set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderTarget(Target):
    """A loader as a target; `loader` makes one that keeps its log in a folder.

    Its declarations: the prefix of its tool names, in which `{server_id}` is the id of the tool's
    server, and the texts in the body of a 403 that mean a timeout. Its options: how many scenarios
    are generated, from which seed, the version of the space, and the only load cases to run, if
    any. `remarks` are sentences about its declarations; `broken` is why its program cannot be used,
    if it broke at its hello.
    """

    loader: Callable[[Path], Loader]
    tool_prefix: str = ""
    timeout_signatures: tuple[str, ...] = ()
    examples: int = EXAMPLES
    seed: int = 0
    space: int | None = None
    cases: tuple[LoadCase, ...] = ()
    remarks: tuple[str, ...] = ()
    broken: str = ""


def loader_target(
    loader: Callable[[Path], Loader], capabilities: Iterable[str] = OF_LOADERS, **members: Any
) -> LoaderTarget:
    """Return a target whose loaders `loader(folder)` makes, by default with every capability."""
    can = frozenset(capabilities)
    return LoaderTarget(kind="loader", capabilities=can, loader=loader, **members)


def program_target(
    command: Sequence[str], capabilities: Iterable[str], **declared: Any
) -> LoaderTarget:
    """Return a target whose loader is the program that this command starts.

    The memory of the program's large answers is bounded.
    """
    loader = partial(LoaderProgram, command, held=Held())
    return loader_target(loader, capabilities, command=tuple(command), **declared)


def embedded_target(
    changed: ChangedLoader, lacks: Iterable[str] = (), *, patience: float = 1.0, **members: Any
) -> LoaderTarget:
    """Return a target with a changed loader in this process and every capability but `lacks`.

    `patience` scales the deadlines of loads.
    """
    host, can = LoaderHost(), set(OF_LOADERS).difference(lacks)

    def make(folder: Path) -> Loader:
        """Return a loader on the target's host; it keeps no log in the folder."""
        del folder
        return EmbeddedLoader(changed, host, patience=patience)

    return loader_target(make, can, close=host.close, **members)
