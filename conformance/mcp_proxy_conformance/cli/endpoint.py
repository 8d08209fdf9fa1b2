"""`run endpoint`: does something at a URL speak MCP, and does it know the flag?"""

from __future__ import annotations

import sys
from typing import Any

import click

from mcp_proxy_conformance.discovery.surface import FLAG, Surface
from mcp_proxy_conformance.report.inert import inert
from mcp_proxy_conformance.report.outcome import BROKEN, DECLARATION, INCOMPLETE, VIOLATED
from mcp_proxy_conformance.transcript import Transcript
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable


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
    del options
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
    click.echo(inert(sentence))
    sys.exit(code)


def look(url: str, headers: dict[str, str], name: str) -> tuple[int, str]:
    """The exit code and one sentence about what listens at a URL."""
    try:
        client = Client(url, headers=headers, transcript=Transcript())
    except ValueError as error:
        return DECLARATION, f"the options cannot be sent: {error}"
    try:
        tools, wire = client.tools(), client.wire
    except Unreachable as error:
        return BROKEN, f"nothing answers there: {error}"
    except ProtocolFault as error:
        return BROKEN, f"what listens at {url} does not speak MCP: {error}"
    finally:
        client.close()
    found = next((one for one in tools if one.get("name") == name), None)
    if found is None:
        seen = ", ".join(str(one.get("name")) for one in tools[:8]) or "none"
        return INCOMPLETE, f"no discovery tool named {name!r} on this endpoint (tools: {seen})"
    schema = found.get("inputSchema")
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    if FLAG not in str(found.get("description", "")) and FLAG not in properties:
        return VIOLATED, (
            f"FR-014.described: {name} names {FLAG} neither in its description nor in its schema"
        )
    return INCOMPLETE, f"{name} knows {FLAG}; wire {wire}; no lock was looked at"
