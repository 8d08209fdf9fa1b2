"""A relay as a target: what it declares, and its command line, with placeholders to fill in."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.catalogue.case_file import CitingCase
from mcp_proxy_conformance.targets.description import UpstreamPlace
from mcp_proxy_conformance.targets.process import free_port
from mcp_proxy_conformance.targets.target import Target

PORT, UPSTREAM, UPSTREAM_URL = "{port}", "{upstream}", "{upstream_url}"
UPSTREAM_TOKEN = "{upstream_token}"  # noqa: S105 - a placeholder
SECOND = "_2}"
"""The end of a placeholder of the second upstream, such as `{upstream_url_2}`."""
OWN_CLIENTS = ("canary/of+the-client-c1a55e=", "canary/of+another-client-42b09d=")
OF_ONE = (
    "--port", PORT, "--upstream-url", UPSTREAM_URL,
    "--upstream-header", f"Authorization: Bearer {UPSTREAM_TOKEN}",
)  # fmt: skip
OF_ANOTHER = (
    "--upstream-url", UPSTREAM_URL.replace("}", SECOND),
    "--upstream-header", f"Authorization: Bearer {UPSTREAM_TOKEN.replace('}', SECOND)}",
)  # fmt: skip
"""Words by which the bundled relay, and relays made from it, reach one upstream and another."""
OWN_RELAY = (
    sys.executable, "-m", "mcp_relay_reference", *OF_ONE,
    *(word for token in OWN_CLIENTS for word in ("--client-token", token)),
)  # fmt: skip
"""The bundled reference relay, over HTTP on both sides."""
OWN_SEVERAL = (*OWN_RELAY, *OF_ANOTHER)
"""The bundled reference relay of two upstreams."""
AUTHORIZATION = "Authorization"
READY_S, EXAMPLES = 20.0, 60
SHORTEST_TOKEN = 12
"""Characters of what is searched for in what reaches the upstream: a shorter text is no secret."""
PLACEHOLDERS = (UPSTREAM, UPSTREAM_URL)
"""One of them has to be in the command line of a relay."""


Transport = Literal["http", "sse", "stdio"]
"""Streamable HTTP, HTTP+SSE of 2024-11-05, or the standard streams of a program."""
ENDPOINTS = {"http": "http://127.0.0.1:{port}/mcp", "sse": "http://127.0.0.1:{port}/sse"}
"""The endpoint of a relay that declares none, by transport."""


DIFFERENCES = ("prefix", "filters", "forwards", "stateless")
"""Declarations of a relay that a run rests on; the others excuse nothing that is promised."""


class RelayFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a relay declares of itself, the table `relay` of a target file.

    `transport` is the one that it serves, of those over HTTP, and `url` its endpoint, in which
    `{port}` is its port; empty is that of `ENDPOINTS`. The rest are deliberate differences:
    `prefix` stands before each tool's name, `pages_joined` listings come as one page, `filters` are
    tools that it neither lists nor calls, `forwards` the client's headers that it sends on; no
    request or no notification of the upstream reaches its client; and it keeps no sessions
    (`stateless`).
    `several` is the command line that starts it in front of two upstreams, `clients` are the bearer
    tokens of two users, of which its clients show one.
    """

    transport: Literal["http", "sse"] = "http"
    url: str = ""
    prefix: str = ""
    pages_joined: bool = False
    filters: tuple[str, ...] = ()
    forwards: tuple[str, ...] = ()
    no_server_requests: bool = False
    no_notifications: bool = False
    stateless: bool = False
    several: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()

    @property
    def differences(self) -> dict[str, Any]:
        """The declarations by which clauses are judged otherwise, or not at all, by name."""
        values = {name: getattr(self, name) for name in DIFFERENCES}
        return {name: value for name, value in values.items() if value}

    def client_headers(self, number: int = 0) -> dict[str, str]:
        """Return the headers by which a client is authorized as the first (0) or another user."""
        return {AUTHORIZATION: f"Bearer {self.clients[number]}"} if self.clients else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayTarget(Target):
    """A relay as a target: a command line, with placeholders, that starts it in front of a server.

    `facts` are its declarations, `ready_s` the seconds until it serves; `examples` and `seed` are
    those of generated values; `cases` are the only ones to run, if any.
    """

    facts: RelayFacts = field(default_factory=RelayFacts)
    ready_s: float = READY_S
    upstreams: UpstreamPlace = field(default_factory=UpstreamPlace)
    examples: int = EXAMPLES
    seed: int = 0
    cases: tuple[CitingCase, ...] = ()

    @property
    def declared(self) -> dict[str, Any]:
        """What is taken on the word of its target file."""
        return self.facts.differences

    @property
    def transport(self) -> Transport:
        """How its client speaks to it: as declared or, if its command has no port, over stdio."""
        return self.facts.transport if any(PORT in word for word in self.command) else "stdio"

    @property
    def of_several(self) -> tuple[str, ...]:
        """The command line that starts it in front of two upstreams, empty if it has none."""
        if any(SECOND in word for word in self.command):
            return self.command
        return OWN_SEVERAL if self.command == OWN_RELAY else self.facts.several


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How an upstream is reached: its command line, its URL, and the token that it is shown."""

    command: Sequence[str]
    url: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The words of one relay's command line, placeholders filled in, and its URL if it has one."""

    words: tuple[str, ...]
    url: str = ""


def relay_target(
    command: Sequence[str], facts: RelayFacts | None = None, **members: Any
) -> RelayTarget:
    """Return the target of a relay's command line, or of the bundled relay if that is empty.

    The bundled relay has the tokens of two clients. `members` replace members of RelayTarget, such
    as `ready_s`.
    """
    declared = facts or RelayFacts()
    if not command:
        declared = msgspec.structs.replace(declared, clients=OWN_CLIENTS)
    return RelayTarget(kind="relay", command=tuple(command) or OWN_RELAY, facts=declared, **members)


def command_line(target: RelayTarget, first: Reached, second: Reached | None = None) -> CommandLine:
    """Return a relay's command line and URL, with placeholders filled in and a free loopback port.

    It is that of several upstreams if there is a second one. A word that is `{upstream}` becomes
    the words of the upstream's command line; within a word, it becomes one text, quoted as for a
    shell. A relay without a port gets no URL.
    """
    command = target.command if second is None else target.of_several
    port = str(free_port()) if any(PORT in word for word in command) else ""
    values, whole = {PORT: port}, dict[str, Sequence[str]]()
    for each, end in ((first, "}"), (second, SECOND)):
        if each is not None:
            whole[UPSTREAM.replace("}", end)] = each.command
            values[UPSTREAM.replace("}", end)] = shlex.join(each.command)
            values[UPSTREAM_URL.replace("}", end)] = each.url
            values[UPSTREAM_TOKEN.replace("}", end)] = each.token
    words: list[str] = []
    for word in command:
        words += whole[word] if word in whole else [_filled(word, values)]
    url = _filled(target.facts.url or ENDPOINTS[target.facts.transport], values) if port else ""
    return CommandLine(words=tuple(words), url=url)


def _filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with each placeholder in it replaced."""
    for placeholder, value in values.items():
        word = word.replace(placeholder, value)
    return word
