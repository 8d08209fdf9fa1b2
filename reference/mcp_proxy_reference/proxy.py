"""A running proxy: started and stopped in milliseconds, many to a process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from mcp_proxy_reference.front import Front
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import Policy
from mcp_proxy_reference.protocol import Protocol
from mcp_proxy_reference.tools import Tools

IDLE_S = 600  # an idle client finds its connection still open


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy that listens at `url`; `gateway` is its state."""

    url: str
    gateway: Gateway

    async def settled(self) -> None:
        """Wait until every upstream's first load has ended, successfully or not."""
        await self.gateway.settled()

    @staticmethod
    @asynccontextmanager
    async def open(
        config: Path,
        data_dir: Path,
        *,
        policy: Policy | None = None,
        front: Callable[[Gateway], Front] = lambda gateway: Front(Protocol(Tools(gateway))),
        listen: tuple[str, int] = ("127.0.0.1", 0),
    ) -> AsyncIterator["Proxy"]:
        """Run a proxy on a loopback address; its upstreams load in the background.

        `front` creates the application that answers requests; connections and requests are ended
        with the block.

        Raises:
            ConfigError: the configuration cannot be used.
            OSError: the address cannot be listened on.
        """
        async with aclosing(Gateway(config, data_dir, policy or Policy())) as gateway:
            settings = uvicorn.Config(
                front(gateway),
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                timeout_keep_alive=IDLE_S,
            )
            settings.load()
            state = ServerState()
            # Not uvicorn.Server: ending one takes 0.2 s.
            listener = await asyncio.get_running_loop().create_server(
                lambda: HttpToolsProtocol(settings, server_state=state, app_state={}), *listen
            )
            host, port = listener.sockets[0].getsockname()[:2]
            place = f"[{host}]" if ":" in host else host
            try:
                yield Proxy(f"http://{place}:{port}/mcp", gateway)
            finally:
                listener.close()
                for connection in list(state.connections):
                    connection.transport.abort()
                await asyncio.sleep(0)  # the connections learn of it before their requests do
                for task in list(state.tasks):
                    task.cancel()
                await asyncio.gather(*state.tasks, return_exceptions=True)
