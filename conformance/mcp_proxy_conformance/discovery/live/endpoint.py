"""A live endpoint as its user describes it: by options, a locks file, or the environment."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import unquote, urlsplit

from mcp_proxy_conformance.catalogue.bounded import read_toml
from mcp_proxy_conformance.catalogue.surface import STATUSES, Surface
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.targets.kinds import knowledge_in
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.wire.client import Wire
from mcp_proxy_conformance.wire.connection import Dialing


class BadEndpoint(BadTarget):
    """The endpoint cannot be used as it was described; one sentence with the repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An endpoint, the means to reach it, and its operator's knowledge of it.

    `agents` are further credentials by name; `expect` is the status that each tool should have;
    `call` are locked tools whose rejection is to be looked at. `listing`, `inspect`, `calls`: the
    surface names these tools because somebody said so, and not by default. `answer_s` is how long
    each answer may take, `within_s` all of them. `file` is the target file that names the surface,
    and maybe the `name` and `version` of what is judged. `by_variables`: described by variables of
    the environment, and not by options.
    """

    kind: ClassVar[str] = "endpoint"
    url: str = ""
    stdio: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    surface: Surface = field(default_factory=Surface)
    listing: bool = False
    calls: bool = False
    pins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    queries: tuple[str, ...] = ()
    expect: Mapping[ToolKey, str] = field(default_factory=dict)
    call: tuple[ToolKey, ...] = ()
    max_requests: int = 300
    rate: float = 20.0
    within_s: float = 600.0
    answer_s: float = 10.0
    wire: Wire | Literal["sse"] = "auto"
    dialing: Dialing = field(default_factory=lambda: Dialing(redirects=3))
    secrets: frozenset[str] = frozenset()
    file: Path | None = None
    name: str = ""
    version: str = ""
    by_variables: bool = False

    @property
    def place(self) -> str:
        """The endpoint's name in messages: its URL, or its command line in backticks."""
        return self.url or f"`{shlex.join(self.stdio)}`"


def place_named(url: str) -> tuple[str, dict[str, str]]:
    """Split a URL that a user gave; return (the URL without userinfo, {header: value} for it).

    The header is Authorization with Basic; {} without userinfo. Raises BadEndpoint unless it is
    a whole http or https URL.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise BadEndpoint(
            "--url is not a URL; give a whole one, such as http://127.0.0.1:8080/mcp"
        ) from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise BadEndpoint(
            "--url is not a whole http or https URL; give one such as http://127.0.0.1:8080/mcp"
        )
    userinfo, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    user, _, word = userinfo.partition(":")
    encoded = base64.b64encode(f"{unquote(user)}:{unquote(word)}".encode()).decode()
    return parts._replace(netloc=host).geturl(), {"Authorization": f"Basic {encoded}"}


def headers_of(lines: Iterable[str], option: str) -> dict[str, str]:
    """Parse headers from lines `Name: value`; of equal names the last counts.

    Raises BadEndpoint for a line without a name or colon, which names `option` and the line's
    number but does not repeat the line.
    """
    headers = {}
    for number, line in enumerate(lines, start=1):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise BadEndpoint(f"{option} number {number} has no colon; write 'Name: value'")
        headers[name.strip()] = value.strip()
    return headers


def agents_of(options: Iterable[str]) -> dict[str, dict[str, str]]:
    """Parse headers by agent from options `NAME=Header: value`; those of one name are merged.

    Raises BadEndpoint for one without a name or a header.
    """
    agents: dict[str, dict[str, str]] = {}
    for number, option in enumerate(options, start=1):
        name, equals, header = option.partition("=")
        if not equals or not name.strip() or ":" in name:
            raise BadEndpoint(f"--as number {number} has no name; write NAME='Header: value'")
        agents.setdefault(name.strip(), {}).update(headers_of([header], "the header of --as"))
    return agents


def tool_key(text: str, option: str) -> ToolKey:
    """Parse `SERVER:TOOL`, without blanks around; raise BadEndpoint if a part is missing.

    `option` is the option's name in that error.
    """
    server, colon, tool = text.partition(":")
    if not (colon and server.strip() and tool.strip()):
        raise BadEndpoint(f"{option}: {text!r} is not a tool of a server; write SERVER:TOOL")
    return ToolKey(server.strip(), tool.strip())


def read_locks(file: Path) -> dict[ToolKey, str]:
    """Read a TOML file with the status of each tool: `"forge:drop" = "disabled_by_config"`.

    Raises BadEndpoint if it is unreadable or invalid, or names no tool.
    """
    try:
        document = read_toml(file)
    except OSError as error:
        raise BadEndpoint(f"cannot read {file}: {error.strerror}; name another file") from None
    except (ValueError, RecursionError) as error:
        raise BadEndpoint(f"{file} is not a TOML file: {error}") from None
    locks = {tool_key(name, str(file)): status for name, status in _statuses(document, file)}
    if not locks:
        raise BadEndpoint(f'{file} names no tools; write "SERVER:TOOL" = "{STATUSES[0]}"')
    return locks


def _statuses(document: dict[str, Any], file: Path) -> Iterator[tuple[str, str]]:
    for name, status in document.items():
        if not isinstance(status, str):
            raise BadEndpoint(
                f'{file}: {name!r} has no status; write "SERVER:TOOL" = "{STATUSES[0]}"'
            )
        if status not in STATUSES:
            near = get_close_matches(status, STATUSES, 1, 0.0)
            raise BadEndpoint(
                f"{file}: {name!r} has the status {status!r}; did you mean {near[0]!r}?"
            )
        yield name, status


URL, HEADERS = "MCP_PROXY_CONFORMANCE_URL", "MCP_PROXY_CONFORMANCE_HEADERS"
EXPECT, FILE = "MCP_PROXY_CONFORMANCE_EXPECT", "MCP_PROXY_CONFORMANCE_TARGET_FILE"
QUERY = "MCP_PROXY_CONFORMANCE_QUERY"
VARIABLES = {
    "--url": URL, "--header": HEADERS, "--expect": EXPECT, "--target-file": FILE, "--query": QUERY,
}  # fmt: skip
"""The variables of the environment that stand for options of `run endpoint`."""
OTHERS = (
    "--as", "--call", "--inspect", "--listing", "--max-requests", "--query-argument", "--stdio",
    "--timeout", "--tool", "--wire",
)  # fmt: skip
"""Options of `run endpoint` that sentences name, and no variable stands for."""
OPTION = re.compile(rf"(?<![\w-])(?:{'|'.join([*VARIABLES, *OTHERS])})(?![\w-])")


def in_variables(sentence: str) -> str:
    """Return a sentence with variables in the place of options, or with whose option one is."""
    named = OPTION.sub(lambda option: VARIABLES.get(option[0], option[0]), sentence)
    other = next((option for option in OPTION.findall(sentence) if option in OTHERS), None)
    return named if other is None else f"{named} ({other}: `mcp-proxy-conformance run endpoint`)"


def in_environment(environment: Mapping[str, str]) -> Endpoint | None:
    """Read the endpoint and what is known of it from VARIABLES; None without a URL.

    Raises BadEndpoint, which names the variable, or BadTarget for the target file.
    """
    address = environment.get(URL, "").strip()
    if not address:
        return None
    try:
        url, own = place_named(address)
    except BadEndpoint as error:
        raise BadEndpoint(in_variables(str(error))) from None
    headers = own | headers_of(environment.get(HEADERS, "").splitlines(), HEADERS)
    file, locks = environment.get(FILE), environment.get(EXPECT)
    known = knowledge_in(Path(file) if file else None)
    return Endpoint(
        url=url,
        headers=headers,
        surface=known.surface,
        listing=known.is_described,
        pins=known.pins,
        name=known.name,
        version=known.version,
        file=Path(file) if file else None,
        expect=read_locks(Path(locks)) if locks else {},
        queries=tuple(filter(None, map(str.strip, environment.get(QUERY, "").splitlines()))),
        by_variables=True,
        secrets=frozenset(credentials(url=address, headers=[headers], environment=environment)),
    )
