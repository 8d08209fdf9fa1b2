"""Description of a proxy: what a target file says of it, beside what it says of any target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, ClassVar
from urllib.parse import urljoin

import msgspec

from mcp_proxy_conformance.catalogue.surface import STATUSES, Surface, ToolTemplate
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES
from mcp_proxy_conformance.targets.description import (
    Description,
    Seconds,
    UpstreamPlace,
    converted,
    expect_kind,
    expect_usable,
    read,
    strange_words,
)
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.transcript import Transcript

POLICY = "disabled_by_config"
LEAST = ("config", "user")
"""Capabilities of a target of kind `command` that declares none."""


class ProxyDescription(Description, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a proxy's target file; times in seconds, as in `ProxyTarget`."""

    options: ClassVar[tuple[str, ...]] = (
        "binary", "command", "capabilities", "settle_s", "enforce_s", "ready_s",
        "upstreams.host", "upstreams.bind", "upstreams.transport",
    )  # fmt: skip

    kind: str = "command"
    binary: str = ""
    capabilities: tuple[str, ...] | None = None
    settle_s: Seconds | None = None
    enforce_s: Seconds | None = None
    ready_s: Seconds | None = None
    start_ahead: Annotated[int, msgspec.Meta(ge=1, le=16)] | None = None
    upstreams: UpstreamPlace = UpstreamPlace()
    surface: Surface | None = None
    pins: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def texts(self) -> Mapping[str, Sequence[str]]:
        """Return the words of its command lines, programs and packages, by member."""
        return {**super().texts(), "binary": (self.binary,)}

    def faults(self) -> Iterator[str]:
        """Yield why it is unusable: also a strange capability, bad pins, no program, a surface.

        A surface is incomplete, has a bad path, or disagrees with the capabilities.
        """
        yield from strange_words(self.capabilities, sorted(CAPABILITIES))
        yield from super().faults()
        yield from self._faults_of_pins()
        if self.kind == "command" and not self.command:
            yield (
                "kind 'command' needs the adapter's command line;"
                " write `run command -- PROGRAM ARGUMENTS` or `command = [...]` in the target file"
            )
        if self.kind == "mcpproxy" and not self.binary:
            yield (
                "kind 'mcpproxy' needs the program;"
                " write `run mcpproxy --binary PATH` or `binary = ...` in the target file"
            )
        yield from self._faults_of_surface()

    def _faults_of_pins(self) -> Iterator[str]:
        """Yield a fault for each strange status, and text of `disabled_by_config` and another."""
        policy = set(self.pins.get(POLICY, ()))
        for status, texts in self.pins.items():
            if status not in STATUSES:
                near = get_close_matches(status, STATUSES, 1) or [STATUSES[0]]
                yield f"pins.{status} is not a status; did you mean {near[0]!r}?"
            for text in policy.intersection(texts) if status != POLICY else ():
                yield (
                    f"pins.{POLICY} and pins.{status} both contain {text!r}, but no text"
                    " fits both kinds of lock; keep it in one of them"
                )

    def _faults_of_surface(self) -> Iterator[str]:
        """Yield the faults of the surface; without one only kind `command` has one, the default."""
        surface, declared = self.surface, self.capabilities
        if self.kind == "command":
            declared = LEAST if declared is None else declared
            surface = Surface() if surface is None else surface
        if surface is None:
            return
        if not surface.endpoints:
            yield 'surface.endpoints is empty; leave it out, or write [""]'
        if not surface.calls:
            yield "surface.calls is empty; name at least one way to call a tool"
        for number, template in enumerate(surface.calls):
            if not template.names_the_tool:
                yield f"surface.calls[{number}] has no {{tool}} in it; add it"
        for name, path in _paths(surface):
            try:
                Client(urljoin("http://127.0.0.1/mcp", path), transcript=Transcript())
            except ValueError as error:
                yield f"{name} is {path!r} ({error}); give a path"
        several = len(surface.calls) > 1 or len(surface.endpoints) > 1
        if declared is not None and several != ("direct_endpoints" in declared):
            count = "names several of them" if several else "names only one of each"
            repair = (
                "declare the capability" if several else "name others, or take the capability out"
            )
            yield (
                "the capability direct_endpoints is for several endpoints or ways to call a"
                f" tool, and surface {count}; {repair}"
            )
        if declared is not None and (surface.inspect is not None) != ("inspect" in declared):
            yield "surface.inspect and the capability inspect go together; give both or none"


def describe_surface(file: Path) -> ProxyDescription:
    """Return a target file's description for a run on an endpoint, which is already started.

    It need not say how to start a target; its capabilities are not checked. Raises BadTarget.
    """
    members = {"kind": "command"} | read(file)
    expect_kind(members["kind"])
    described = converted(ProxyDescription, members, str(file))
    bare = msgspec.structs.replace(described, kind="reference", capabilities=None)
    expect_usable(bare, str(file))
    return described


def _paths(surface: Surface) -> list[tuple[str, str]]:
    templates: dict[str, ToolTemplate] = {"listing": surface.listing}
    templates |= {f"calls[{at}]": template for at, template in enumerate(surface.calls)}
    if surface.inspect is not None:
        templates["inspect"] = surface.inspect
    paths = [(f"surface.endpoints[{at}]", path) for at, path in enumerate(surface.endpoints)]
    return paths + [
        (f"surface.{name}.endpoint", template.endpoint) for name, template in templates.items()
    ]
