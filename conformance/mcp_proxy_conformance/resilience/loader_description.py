"""Description of a loader: what a target file or its program says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from mcp_proxy_conformance.targets.description import (
    Description,
    converted,
    expect_usable,
    strange_words,
)

OF_LOADERS = ("attempts", "classifies", "retries", "stdio", "warnings")
"""Capabilities that a loader can declare."""
DECLARED = ("name", "version", "capabilities", "tool_prefix", "timeout_signatures")
"""Members that the program of a loader can declare too, in its answer to hello."""


class LoaderDescription(Description, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a loader's target file; its members as in `LoaderTarget`."""

    options: ClassVar[tuple[str, ...]] = (
        "command", "capabilities", "tool_prefix", "timeout_signatures",
    )  # fmt: skip

    kind: str = "loader"
    capabilities: tuple[str, ...] | None = None
    tool_prefix: str = ""
    timeout_signatures: tuple[str, ...] = ()

    def faults(self) -> Iterator[str]:
        """Yield why it is unusable: also a strange capability, or an empty timeout signature."""
        yield from strange_words(self.capabilities, OF_LOADERS)
        yield from super().faults()
        if not all(signature.strip() for signature in self.timeout_signatures):
            yield (
                "timeout_signatures contains an empty text, which every body contains; take it out"
            )


def declared_by(members: Mapping[str, Any], place: str) -> LoaderDescription:
    """Return the description of a loader with what its hello declares; other members are left out.

    Raises:
        BadTarget: A declared member is unusable; the message names `place`.
    """
    own = {name: members[name] for name in DECLARED if name in members}
    described = converted(LoaderDescription, {"kind": "loader"} | own, place)
    expect_usable(described, place)
    return described


def completed(described: LoaderDescription, declared: LoaderDescription) -> LoaderDescription:
    """Return a loader's description with what it leaves out taken from `declared`.

    That is its name, version, capabilities, tool prefix and timeout signatures; nothing else. An
    empty list of capabilities counts as given.
    """
    can = declared.capabilities if described.capabilities is None else described.capabilities
    others = {
        name: getattr(described, name) or getattr(declared, name)
        for name in DECLARED
        if name != "capabilities"
    }
    return msgspec.structs.replace(described, capabilities=can, **others)
