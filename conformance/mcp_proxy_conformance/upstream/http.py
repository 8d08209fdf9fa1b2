"""Just enough HTTP/1.1 for a scripted server, over asyncio's streams."""

from __future__ import annotations

from dataclasses import dataclass
from http.client import responses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request, its body whole."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name in lower case."""
        return next((v for k, v in self.headers if k.lower() == name), None)

    @property
    def keeps(self) -> bool:
        """Whether the connection may serve another request."""
        return (self.header("connection") or "").lower() != "close"


async def read_request(reader: asyncio.StreamReader) -> HttpRequest:
    """Read one request.

    Raises:
        asyncio.IncompleteReadError: The peer closed; between requests that is the usual end.
        ValueError: What came is not HTTP.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, path, _ = line.split(" ", 2)
    headers = tuple((k, v.strip()) for k, _, v in (line.partition(":") for line in lines))
    request = HttpRequest(method=method, path=path, headers=headers, body=b"")
    if "chunked" in (request.header("transfer-encoding") or "").lower():
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(request.header("content-length") or 0))
    return HttpRequest(method=method, path=path, headers=headers, body=body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # a trailer
    return b"".join(chunks)


def render_response(status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> bytes:
    """The bytes of a response with its length."""
    lines = [f"HTTP/1.1 {status} {responses.get(status, '')}"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body
