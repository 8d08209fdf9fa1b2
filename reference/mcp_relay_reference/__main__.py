"""The command line: an upstream's URL, or its command line after `--`, and the port to serve at."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence

import click
import uvicorn

from mcp_relay_reference.front import Front
from mcp_relay_reference.guard import Guard
from mcp_relay_reference.remote import Remote
from mcp_relay_reference.several import Several


@click.command()
@click.option("--port", default=0, help="Port on 127.0.0.1; 0 is a free one.")
@click.option("--upstream-url", multiple=True, help="An upstream's MCP endpoint.")
@click.option("--upstream-header", multiple=True, help="'NAME: VALUE' that the upstream gets.")
@click.option("--client-token", multiple=True, help="A bearer token of a client; without any, all.")
@click.argument("command", nargs=-1)
def main(
    port: int,
    upstream_url: tuple[str, ...],
    upstream_header: tuple[str, ...],
    client_token: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    """Relay one upstream MCP server at http://127.0.0.1:PORT/mcp, until SIGTERM or SIGINT.

    The upstream is a URL, or a COMMAND whose standard streams speak MCP. Of several URLs only the
    tools are relayed, and each header goes to one of them, in order.
    """
    if bool(upstream_url) == bool(command):
        raise click.UsageError("name one upstream: --upstream-url URL, or -- COMMAND")
    front = Front(remote(upstream_url, upstream_header) if upstream_url else command)
    serve(Guard(front, client_token) if client_token else front, port)


def remote(urls: Sequence[str], headers: Sequence[str]) -> Remote:
    """Return the upstream at a URL, or several of them as one.

    `headers` are lines 'NAME: VALUE': all are for a single upstream; of several, each gets the one
    at its own position, if there is one.
    """
    if len(urls) == 1:
        return Remote(urls[0], own_headers(headers))
    return Several([Remote(url, own_headers(headers[at : at + 1])) for at, url in enumerate(urls)])


def own_headers(lines: Sequence[str]) -> dict[str, str]:
    """Return headers by lower-case name from lines 'NAME: VALUE'; UsageError for another line."""
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise click.UsageError("write --upstream-header as 'NAME: VALUE'")
        headers[name.strip().lower()] = value.strip()
    return headers


def serve(front: Front | Guard, port: int) -> None:
    """Serve on 127.0.0.1 at the port (0: a free one) until SIGTERM or SIGINT; end all sessions.

    Warnings go to standard error. A port that cannot be bound ends the process, not with 0.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    asyncio.run(_serve(front, port))


async def _serve(front: Front | Guard, port: int) -> None:
    """Serve at the port until SIGTERM or SIGINT; first print URL and process id as JSON."""
    settings = uvicorn.Config(
        front, host="127.0.0.1", port=port, http="httptools", ws="none", lifespan="off",
        log_config=None, access_log=False, proxy_headers=False, server_header=False,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    settings.load()
    server = uvicorn.Server(settings)
    server.lifespan = settings.lifespan_class(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: setattr(server, "should_exit", True))
    await server.startup()
    if server.should_exit:
        sys.exit(2)
    bound = server.servers[0].sockets[0].getsockname()[1]
    sys.stdout.write(
        json.dumps({"url": f"http://127.0.0.1:{bound}/mcp", "pid": os.getpid()}) + "\n"
    )
    sys.stdout.flush()
    await server.main_loop()
    await front.close()
    await server.shutdown()


if __name__ == "__main__":
    main()
