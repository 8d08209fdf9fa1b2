"""The command line: `serve --config F --data-dir D --listen HOST:PORT`."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_proxy_reference import config as configuration
from mcp_proxy_reference import stdio_front
from mcp_proxy_reference.policy import Policy
from mcp_proxy_reference.proxy import Proxy, gateway_open

LOOPBACK = {"localhost", "127.0.0.1", "::1", ""}
STDIO = ":0"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; 2 when the configuration or the command line is not usable."""
    options = _options().parse_args(arguments)
    level = logging.getLevelNamesMapping().get(options.log_level.upper(), logging.WARNING)
    logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        asyncio.run(_serve(options))
    except (configuration.ConfigError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mcp_proxy_reference", allow_abbrev=False)
    serve = parser.add_subparsers(required=True).add_parser("serve", allow_abbrev=False)
    serve.add_argument("--config", type=Path, required=True)
    serve.add_argument("--data-dir", type=Path)
    serve.add_argument("--listen")
    serve.add_argument("--enable-socket", default="false", help="accepted, not used")
    serve.add_argument("--log-level", default="warn")
    serve.add_argument("--answers", choices=["json", "sse"], default="json")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    config = configuration.read(options.config)
    listen = options.listen or config.document.get("listen") or "127.0.0.1:8080"
    data_dir = options.data_dir or Path(config.document.get("data_dir") or ".")
    policy = replace(Policy(), answers=options.answers)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if listen == STDIO:
        async with gateway_open(options.config, data_dir, policy) as gateway:
            await _first(stop.wait(), stdio_front.serve(gateway))
        return
    async with Proxy.open(
        options.config, data_dir, policy=policy, listen=_address(listen)
    ) as proxy:
        sys.stdout.write(json.dumps({"url": proxy.url, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        await stop.wait()


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    if host not in LOOPBACK or not port.isdecimal():
        raise configuration.ConfigError(f"listen must be a loopback address, not {listen}.")
    return host or "127.0.0.1", int(port)


async def _first(*work: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.create_task(one) for one in work]
    done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    for task in done:
        task.result()
