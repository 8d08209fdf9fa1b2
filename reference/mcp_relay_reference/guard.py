"""ASGI application around a front: clients need a bearer token, a session serves only its owner."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_relay_reference import message
from mcp_relay_reference.front import Front, Receive, Send
from mcp_relay_reference.remote import SESSION

HEADER = SESSION.encode()


class Guard:
    """ASGI application around a front: it serves clients with a known token, each its sessions.

    The id of a session ends with a digest of its owner's token, which the front does not see.
    """

    def __init__(self, front: Front, tokens: Sequence[str]) -> None:
        """Keep the front, and the tokens of its clients."""
        self._front = front
        self._tokens = tokens

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Pass a request on to the front, and its answer back, for a client with a known token.

        The answer is unchanged, except that a digest of the token is added to a session id. A
        request without a known token is refused with 401, one in another client's session with 404.
        """
        headers = dict(scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        known = [
            each for each in self._tokens if secrets.compare_digest(each.encode(), token.encode())
        ]
        if scheme.lower() != "bearer" or not known:
            await _refuse(send, 401, "A bearer token is needed.")
            return
        own, _, mark = headers.get(HEADER, b"").rpartition(b".")
        if HEADER in headers and not self.owns(scope["method"], mark, _digest(token)):
            await _refuse(send, 404, "There is no such session.")
            return
        inner = [(name, own if name == HEADER else value) for name, value in scope["headers"]]

        async def marked(event: dict[str, Any]) -> None:
            """Send an event on, with the digest at the end of a session's id."""
            if event["type"] == "http.response.start":
                end = b"." + (mark or _digest(token))
                outer = [(name, value + end if name == HEADER else value)
                         for name, value in event["headers"]]  # fmt: skip
                event = event | {"headers": outer}
            await send(event)

        await self._front({**scope, "headers": inner}, receive, marked)

    async def close(self) -> None:
        """End what the front has begun."""
        await self._front.close()

    def owns(self, method: str, mark: bytes, own: bytes) -> bool:
        """Whether a client may send a request in the session with that mark, by any HTTP method.

        `mark` is the digest at the end of the session's id, `own` that of the client's token.
        """
        del method
        return secrets.compare_digest(mark, own)


def _digest(token: str) -> bytes:
    """Return 16 hexadecimal digits that identify a token, without revealing it, in session ids."""
    return hashlib.sha256(token.encode()).hexdigest()[:16].encode()


async def _refuse(send: Send, status: int, text: str) -> None:
    """Send the relay's own refusal of an HTTP request."""
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = message.failure(None, message.INVALID, text)
    await send({"type": "http.response.body", "body": body})
