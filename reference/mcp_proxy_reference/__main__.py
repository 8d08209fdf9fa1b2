"""The command line: `serve --config F --data-dir D --listen HOST:PORT`, over HTTP or stdio."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any, Literal

import click

from mcp_proxy_reference import stdio_front
from mcp_proxy_reference.config import ConfigError, read
from mcp_proxy_reference.front import LOOPBACK, Front
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import Policy
from mcp_proxy_reference.protocol import Protocol
from mcp_proxy_reference.proxy import Proxy
from mcp_proxy_reference.tools import Tools

STDIO = ":0"


@click.group()
def main() -> None:
    """A small MCP tool proxy whose locked tools agents can discover."""


@main.command()
@click.option("--config", type=click.Path(path_type=Path), required=True)
@click.option("--data-dir", type=click.Path(path_type=Path))
@click.option("--listen")
@click.option("--enable-socket", help="Accepted, not used.")
@click.option("--log-level", default="warn")
@click.option("--answers", type=click.Choice(["json", "sse"]), default="json")
def serve(config: Path, data_dir: Path | None, listen: str | None, **options: Any) -> None:
    """Serve until SIGTERM or SIGINT; exit with 2 on an unusable configuration or command line."""
    level = logging.getLevelNamesMapping().get(options["log_level"].upper(), logging.WARNING)
    logging.basicConfig(level=level, format="%(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        settings = read(config).settings
        listen = listen or settings.listen or "127.0.0.1:8080"
        folder = data_dir or Path(settings.data_dir or ".")
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(_serve(config, folder, listen, options["answers"]))
    except (ConfigError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


async def _serve(
    config: Path, data_dir: Path, listen: str, answers: Literal["json", "sse"]
) -> None:
    """Serve on standard streams if `listen` is `:0`, else over HTTP until cancelled by a signal.

    Over HTTP, the URL and the process id are printed first, as one line of JSON. ConfigError unless
    the host is loopback and the port a number.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    if listen == STDIO:
        async with contextlib.aclosing(Gateway(config, data_dir, Policy())) as gateway:
            await stdio_front.serve(Protocol(Tools(gateway)))
        return
    host, _, port = listen.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if host not in LOOPBACK or not port.isdecimal():
        raise ConfigError(f"listen must be a loopback address, not {listen}.")

    def front(gateway: Gateway) -> Front:
        """Return the HTTP application of a gateway, with the form of answers of `--answers`."""
        return Front(Protocol(Tools(gateway)), answers)

    async with Proxy.open(config, data_dir, front=front, listen=(host, int(port))) as proxy:
        sys.stdout.write(json.dumps({"url": proxy.url, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        await loop.create_future()


if __name__ == "__main__":
    main()
