"""Minimal HTTP/1.1 for scripted servers: requests read, responses rendered, connections served."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from dataclasses import dataclass
from http.client import responses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


MOST_HEAD, MOST_BODY, MOST_BODIES = 64 << 10, 16 << 20, 64 << 20
"""The most bytes of a request's head, of a body, and of all bodies being read at one time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request, with its whole body."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first header of that name, given in lower case; None without one."""
        return next((v for k, v in self.headers if k.lower() == name), None)

    @property
    def keeps(self) -> bool:
        """Whether the connection may serve another request: no header says `Connection: close`."""
        return (self.header("connection") or "").lower() != "close"


class _Bodies:
    """Limits the bytes of all request bodies that this process is reading at one time."""

    def __init__(self) -> None:
        """Begin with nothing reserved."""
        self._lock = threading.Lock()  # a host has its own thread
        self._bytes = 0

    def add(self, size: int) -> None:
        """Reserve bytes; ValueError, reserving none, beyond the limit of all bodies."""
        with self._lock:
            if self._bytes + size > MOST_BODIES:
                raise ValueError(f"bodies of {self._bytes + size} bytes at one time")
            self._bytes += size

    def remove(self, size: int) -> None:
        """Release reserved bytes."""
        with self._lock:
            self._bytes -= size


_BODIES = _Bodies()


class _RequestBody:
    """The body of one request while it is read."""

    def __init__(self) -> None:
        """Begin empty."""
        self.content = bytearray()
        self._claimed = 0

    async def read(self, reader: asyncio.StreamReader, size: int) -> None:
        """Append that many bytes, waiting for them and reserving them among all bodies.

        Raises ValueError for a negative size, or beyond the limit of a request or of all;
        IncompleteReadError if the peer closes.
        """
        if size < 0 or len(self.content) + size > MOST_BODY:
            raise ValueError(f"a body of {len(self.content) + size} bytes")
        _BODIES.add(size)
        self._claimed += size
        self.content += await reader.readexactly(size)

    def close(self) -> None:
        """Release this body's bytes from the limit on all bodies."""
        _BODIES.remove(self._claimed)


async def read_request(reader: asyncio.StreamReader) -> HttpRequest:
    """Read one HTTP request with its whole body from a connection.

    Raises:
        asyncio.IncompleteReadError: The peer closed; normal between requests.
        asyncio.LimitOverrunError: Its head is too long for the reader.
        ValueError: The request is not HTTP, or its body too long.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, path, _ = line.split(" ", 2)
    headers = tuple((k, v.strip()) for k, _, v in (line.partition(":") for line in lines))
    request = HttpRequest(method=method, path=path, headers=headers, body=b"")
    with contextlib.closing(_RequestBody()) as body:
        if "chunked" in (request.header("transfer-encoding") or "").lower():
            await _read_chunks(reader, body)
        else:
            await body.read(reader, int(request.header("content-length") or 0))
        return HttpRequest(method=method, path=path, headers=headers, body=bytes(body.content))


async def _read_chunks(reader: asyncio.StreamReader, body: _RequestBody) -> None:
    """Append the chunks of a chunked body to `body`, and skip the trailer.

    ValueError for a malformed chunk or too much; IncompleteReadError if the peer closes.
    """
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        await body.read(reader, size)
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # a trailer


def render_head(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Return the status line and `headers` of a response, with the empty line after them."""
    lines = [f"HTTP/1.1 {status} {responses.get(status, '')}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def render_response(status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Return the bytes of a response: status line, `headers`, Content-Length, body."""
    return render_head(status, (*headers, ("Content-Length", str(len(body))))) + body


BACKLOG = 256
_ENDED = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError)


class Listener:
    """Serves each connection with the coroutine `serve(reader, writer)`, which returns when done.

    `asyncio.start_server` would report cancelled handlers as errors, and lose a connection that it
    is accepting while it is closed.
    """

    def __init__(
        self,
        serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
        longest: int = MOST_HEAD,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Listen nowhere yet; `serve` is awaited for each connection, which may speak TLS.

        The reader refuses a line, or a head, of more than `longest` bytes.
        """
        self._serve = serve
        self._longest = longest
        self._tls = tls
        self._socket: socket.socket | None = None
        self._live: dict[asyncio.Task[None], socket.socket | asyncio.WriteTransport] = {}
        self.port = 0

    async def open(self, host: str, port: int = 0) -> None:
        """Bind a port of `host` (by default a free one), listen, and serve its connections.

        OSError if the port cannot be bound; `port` becomes the number of the bound one.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.take(socket.create_server((host, port), family=family, backlog=BACKLOG))

    def take(self, listening: socket.socket) -> None:
        """Serve the connections of a listening socket, which `close` will close."""
        self._socket = listening
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    async def close(self) -> None:
        """Stop listening, cancel the task of every connection, and wait until all have ended."""
        self._stop()
        live = [*self._live]
        for task in live:
            task.cancel()
        await asyncio.gather(*live, return_exceptions=True)

    def refuse(self) -> socket.socket:
        """Stop listening and end all other connections; return a socket that holds the port.

        The listening socket must have SO_REUSEADDR, on account of connections that it accepted.
        """
        assert self._socket is not None
        address, held = self._socket.getsockname(), socket.socket()
        self._stop()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # a connection of somebody else has the port now
            held.bind(address)
        for task in {*self._live} - {asyncio.current_task()}:
            task.cancel()
        return held

    def _stop(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _accept(self, listening: socket.socket) -> None:
        """Accept one connection, if it is still there, and begin a task that serves it."""
        with contextlib.suppress(OSError):  # gone again before it was accepted
            sock, _ = listening.accept()
            sock.setblocking(False)
            # asyncio does this only for sockets that it opened itself; otherwise answers take 40 ms
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = asyncio.get_running_loop().create_task(self._connection(sock))
            self._live[task] = sock
            task.add_done_callback(self._ended)

    async def _connection(self, sock: socket.socket) -> None:
        """Serve a connection until `serve` returns, then close it; a peer's errors only end it."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        reader = asyncio.StreamReader(limit=self._longest, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        with contextlib.suppress(*_ENDED):
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock, ssl=self._tls)
            self._live[task] = transport
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            try:
                await self._serve(reader, writer)
            finally:
                writer.close()
            await writer.wait_closed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Close the connection of an ended task: if cancelled early, it ran no `finally`."""
        connection = self._live.pop(task)
        if isinstance(connection, socket.socket):
            connection.close()
        else:
            connection.abort()
