"""`run endpoint`: does something at a URL speak MCP, and does it know the flag?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

import click

from mcp_proxy_conformance.discovery.presence import (
    LONGEST_NAME,
    cut,
    names_flag,
    no_mention,
    no_tool,
)
from mcp_proxy_conformance.discovery.surface import FLAG, Surface
from mcp_proxy_conformance.report.inert import inert
from mcp_proxy_conformance.report.outcome import BROKEN, DECLARATION, INCOMPLETE, VIOLATED
from mcp_proxy_conformance.transcript import Transcript
from mcp_proxy_conformance.wire.client import FORBIDDEN, Client
from mcp_proxy_conformance.wire.era import METHOD_NOT_FOUND
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.old_stream import opens_old_stream

NO_POST = (400, 404, 405)
NO_PATH = (404, 405)
LONGEST = 1200


@click.command()
@click.option("--url", required=True, help="The endpoint, e.g. http://127.0.0.1:8080/mcp")
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="Sent with each request.")
@click.option("--tool", default=Surface().discovery_tool, show_default=True, help="Discovery tool.")
@click.pass_obj
def endpoint(options: dict[str, Any], url: str, header: tuple[str, ...], tool: str) -> None:
    """Look at a live endpoint: handshake, tools/list, the discovery tool. No tool is called.

    The profile for live endpoints is not part of this version; a tool that names the flag
    is reported, and the run is incomplete.
    """
    needless = sorted(name for name, value in options.items() if value is not None)
    if needless:
        word = needless[0].removesuffix("_s").replace("upstreams_", "upstream_").replace("_", "-")
        click.echo(f"`run endpoint` starts nothing and takes no --{word}; leave it out", err=True)
        sys.exit(DECLARATION)
    if not url.startswith(("http://", "https://")):
        click.echo(f"--url {url!r} is no http address; give the whole URL", err=True)
        sys.exit(DECLARATION)
    headers = {}
    for one in header:
        name, colon, value = one.partition(":")
        if not colon:
            click.echo(f"--header {one!r} has no colon; write 'Name: value'", err=True)
            sys.exit(DECLARATION)
        headers[name.strip()] = value.strip()
    code, sentence = look(url, headers, tool)
    click.echo(cut(" ".join(inert(sentence).split()), LONGEST))
    sys.exit(code)


def look(url: str, headers: dict[str, str], name: str) -> tuple[int, str]:
    """The exit code and one sentence about what listens at a URL."""
    transcript = Transcript()
    try:
        client = Client(url, headers=headers, transcript=transcript)
    except ValueError as error:
        return DECLARATION, f"the options cannot be sent: {error}"
    try:
        tools, wire = _tools(client), client.wire
    except Unreachable as error:
        return BROKEN, f"nothing answers there: {error}"
    except ProtocolFault as error:
        if client.opening is not None and error.status not in FORBIDDEN:
            return BROKEN, f"{url} shook hands, but its tools cannot be listed: {error}"
        return BROKEN, _no_handshake(url, error, lambda: opens_old_stream(url, headers, transcript))
    finally:
        client.close()
    found = next((one for one in tools if one.get("name") == name), None)
    if found is None:
        return INCOMPLETE, no_tool(name, tools)
    if not names_flag(found):
        return VIOLATED, no_mention(name)
    return INCOMPLETE, f"{name} knows {FLAG}; wire {wire}; no lock was looked at"


def _tools(client: Client) -> list[dict[str, Any]]:
    """All tools; none of a server that has none to list and therefore not the method either."""
    offered = client.open().opening
    declared = offered.value().get("capabilities") if offered is not None else None
    if not (isinstance(declared, dict) and "tools" in declared):
        refusal = client.request("tools/list", {}).error
        if refusal is not None and refusal["code"] == METHOD_NOT_FOUND:
            return []
    return client.tools()


def _no_handshake(url: str, fault: ProtocolFault, opens_old_stream: Callable[[], bool]) -> str:
    """Why nobody shook hands, and what to do about it."""
    status = fault.status
    if status in FORBIDDEN:
        return (
            f"{url} turns this client away (HTTP {status}); "
            "give credentials that it takes with --header 'NAME: VALUE'"
        )
    if fault.location is not None:
        place = cut(_joined(url, fault.location), LONGEST_NAME)
        return f"{url} redirects to {place} (HTTP {status}), which is not followed; give that URL"
    if status in NO_POST and opens_old_stream():
        return (
            f"{url} speaks the HTTP+SSE transport of 2024-11-05, which is not supported; "
            "give the URL of its streamable HTTP endpoint, or have it serve one"
        )
    if status in NO_PATH and fault.kind == "http":
        return (
            f"no MCP endpoint at {url} (HTTP {status} to a POST); "
            "give the URL, path included, of its streamable HTTP endpoint"
        )
    if fault.kind == "handshake":
        return f"{url} does not agree to shake hands: {fault}"
    return f"what listens at {url} does not speak MCP: {fault}"


def _joined(url: str, place: str) -> str:
    try:
        return urljoin(url, place)
    except ValueError:
        return place
