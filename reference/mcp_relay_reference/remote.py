"""An upstream over HTTP: each request is sent on once, and its answer comes back byte by byte."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx2

SENT_ON = ("accept", "content-type", "last-event-id", "mcp-protocol-version")
"""Headers of a client that its upstream gets, beside those that begin with PARAMETERS. Its
credentials, cookies and address are for the relay alone."""
PARAMETERS = ("mcp-method", "mcp-name", "mcp-param-", "traceparent", "tracestate", "baggage")
SENT_BACK = ("content-type", "cache-control", "mcp-protocol-version")
SESSION = "mcp-session-id"


class Unreachable(Exception):
    """The upstream did not answer, or refused the relay's own credentials."""


class Reply(NamedTuple):
    """The upstream's answer: status, headers for the client, its session id if any, the body."""

    status: int
    headers: dict[str, str]
    session: str | None
    body: AsyncIterator[bytes]


class Remote:
    """An upstream's URL and the headers, credentials among them, that only the relay sends."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """Keep the URL and the relay's own headers; no request is sent yet."""
        self._url = url
        self._own = dict(headers)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self._http = httpx2.AsyncClient(trust_env=False, timeout=None, limits=limits)

    @asynccontextmanager
    async def exchange(
        self, method: str, headers: Mapping[str, str], session: str | None, body: bytes
    ) -> AsyncIterator[Reply]:
        """Send a client's request on, once; yield the answer, whose body is still to be read.

        `session` is the upstream's own id of the session, if any. Of `headers` only SENT_ON and
        PARAMETERS go on; no redirect is followed.

        Raises:
            Unreachable: There is no answer, or it is 401, 403 or a redirect.
        """
        sent = {
            name: value
            for name, value in headers.items()
            if name in SENT_ON or name.startswith(PARAMETERS)
        }
        sent |= {"accept-encoding": "identity", **({SESSION: session} if session else {})}
        request = self._http.build_request(
            method, self._url, headers=sent | self._own, content=body
        )
        try:
            answer = await self._http.send(request, stream=True)
        except (httpx2.HTTPError, OSError):
            raise Unreachable("The upstream server cannot be reached.") from None
        try:
            if answer.status_code in (401, 403) or answer.is_redirect:
                raise Unreachable(f"The upstream server refused the relay: {answer.status_code}.")
            back = {name: answer.headers[name] for name in SENT_BACK if name in answer.headers}
            yield Reply(answer.status_code, back, answer.headers.get(SESSION), answer.aiter_raw())
        finally:
            await answer.aclose()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()
