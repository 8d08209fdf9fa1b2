"""A specification of one demand: no two tools of a server have one name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.specification import Command, Specification
from mcp_proxy_conformance.run.subject import Probed, Subject
from mcp_proxy_conformance.targets.target import Target
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.transcript import Transcript

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(Target):
    """A server that is running, at a URL."""

    url: str


class Listed(Subject):
    """The server, asked once: a check gets the names of its tools."""

    def __init__(self, target: Any) -> None:
        """Ask nothing yet."""
        self.target, self.url, self.names = target, target.url, list[str]()

    def probe(self) -> Probed:
        """List the tools."""
        with Client(self.url, transcript=Transcript()) as client:
            self.names = [tool["name"] for tool in client.tools()]
        return Probed()

    def open(self, place: Any) -> list[str]:
        """Return the names, whatever the place of the check."""
        del place
        return self.names


def server(url: str) -> Server:
    """Return the server as a target, which nobody starts."""
    return Server(kind="server", url=url)


def _proof() -> Any:
    from unique_names.changed import proof  # noqa: PLC0415

    return proof()


SPECIFICATION = Specification(
    name="names",
    root=HERE,
    fixtures=HERE / "fixtures",
    kinds=("server",),
    folders={"names": "checks"},
    target=lambda request, _: request.subject,
    profile=lambda _: "names",
    subject=lambda _, target, *__: Listed(target),
    runs={"server": Command("unique_names.command:command", "Judge the names of tools.")},
    proof=_proof,
    proven=("names",),
)
