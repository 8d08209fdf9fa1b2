"""Description of a relay: what a target file says of it, beside what it says of any target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec

from mcp_proxy_conformance.fidelity.relay_target import (
    PLACEHOLDERS,
    PORT,
    SECOND,
    SHORTEST_TOKEN,
    RelayFacts,
)
from mcp_proxy_conformance.targets.description import Description, Seconds, UpstreamPlace


class RelayDescription(Description, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a relay's target file; times in seconds."""

    options: ClassVar[tuple[str, ...]] = (
        "command", "ready_s", "upstreams.host", "upstreams.bind", "upstreams.transport",
    )  # fmt: skip
    placeholders: ClassVar[tuple[str, ...]] = PLACEHOLDERS

    kind: str = "relay"
    ready_s: Seconds | None = None
    upstreams: UpstreamPlace = UpstreamPlace()
    relay: RelayFacts = RelayFacts()

    def with_commands(self, change: Callable[[Sequence[str]], tuple[str, ...]]) -> Description:
        """Return it with each of its command lines that is not empty replaced by `change` of it."""
        several = self.relay.several and change(self.relay.several)
        relay = msgspec.structs.replace(self.relay, several=several)
        return msgspec.structs.replace(super().with_commands(change), relay=relay)

    def texts(self) -> Mapping[str, Sequence[str]]:
        """Return the words of its command lines and packages, by member."""
        return {**super().texts(), "several": self.relay.several}

    def faults(self) -> Iterator[str]:
        """Yield why it is unusable: also a command without an upstream or a port, or bad facts.

        `several` names a second upstream; `clients`, if any, are two different tokens or more, of
        12 characters at least.
        """
        yield from super().faults()
        command, facts = self.command, self.relay
        if command and not any(name in word for word in command for name in PLACEHOLDERS):
            yield (
                "the relay's command names no upstream; put {upstream_url} where it takes"
                " a URL, or {upstream} where it takes a command line"
            )
        if command and facts.transport == "sse" and PORT not in str(command):
            yield ("a relay over HTTP+SSE serves at a port; put {port} where its command takes one")
        clients = facts.clients
        if clients and (len({*clients}) < 2 or min(map(len, clients)) < SHORTEST_TOKEN):  # noqa: PLR2004
            yield (
                "clients are the bearer tokens of two users or more, each of"
                f" {SHORTEST_TOKEN} characters at least"
            )
        if facts.several and not any(SECOND in word for word in facts.several):
            yield (
                "the command line `several` names no second upstream; put {upstream_url_2}"
                " or {upstream_2} beside that of the first"
            )
