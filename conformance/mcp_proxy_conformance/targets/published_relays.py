"""Table of published relays: the package of each to install, and its target file in `relays/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp_proxy_conformance.targets.description import BadTarget, describe
from mcp_proxy_conformance.targets.environments import Environment, Installer, install

FILES = Path(__file__).parent / "relays"
SEPARATOR = {"pip": "==", "npm": "@"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRelay:
    """One published relay: its name here, and the package and installer that bring its program.

    Its target file names the version; its command there begins with the program's name.
    """

    name: str
    package: str
    installer: Installer

    @property
    def file(self) -> Path:
        """The path of its target file."""
        return FILES / f"{self.name}.toml"

    def command(self) -> tuple[str, ...]:
        """Return its command line, with placeholders, after installing it if it is missing.

        Raises:
            NotInstalled: It could not be installed.
        """
        described = describe(kind="relay", file=self.file, given={}, environment={})
        program, *words = described.command
        requirement = f"{self.package}{SEPARATOR[self.installer]}{described.version}"
        environment = Environment(
            kind="relays", package=self.package, requirement=requirement, installer=self.installer
        )
        install(environment)
        return (*environment.program(program), *words)


PUBLISHED = (
    PublishedRelay(name="fastmcp", package="fastmcp", installer="pip"),
    PublishedRelay(name="mcp-remote", package="mcp-remote", installer="npm"),
    PublishedRelay(name="npm-mcp-proxy", package="mcp-proxy", installer="npm"),
    PublishedRelay(name="pypi-mcp-proxy", package="mcp-proxy", installer="pip"),
    PublishedRelay(name="supergateway", package="supergateway", installer="npm"),
)
"""All of them, in the order of their names."""


def published_relay(name: str) -> PublishedRelay:
    """Return the published relay of that name.

    Raises:
        BadTarget: No published relay has that name; the message lists the names.
    """
    for relay in PUBLISHED:
        if relay.name == name:
            return relay
    names = ", ".join(relay.name for relay in PUBLISHED)
    raise BadTarget(f"no published relay is named {name!r}; choose one of {names}")
