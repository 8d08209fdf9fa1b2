"""Client of the REST API for operators that the reference and the real Go proxy share."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote

from mcp_proxy_conformance.targets.target import AdapterError, Refused

TIMEOUT_S, READY_S = 10.0, 2.0
"""Seconds that an answer may take; whether the program is ready is asked again."""


class OperatorApi:
    """Client of the operator API, `/api/v1` on a loopback port, with one API key."""

    def __init__(self, port: int, api_key: str) -> None:
        """Keep the port and the key; no connection is made yet."""
        self._port = port
        self._headers = {"X-API-Key": api_key, "Content-Type": "application/json"}

    def ready(self) -> bool:
        """Whether `/readyz` answers 200 within 2 s; False for any other status or no answer."""
        try:
            status, _ = self._send("GET", "/readyz", None, within_s=READY_S)
        except (OSError, http.client.HTTPException):  # HTTPException: another program has the port
            return False
        return status == http.client.OK

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request to a path below `/api/v1`; return the JSON object of the answer.

        Raises Refused for status 409; AdapterError for other errors, no answer or no JSON object.
        """
        try:
            status, text = self._send(method, "/api/v1" + path, body)
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            raise AdapterError(f"the operator API did not answer {method} {path}: {why}") from None
        if status == http.client.CONFLICT:
            raise Refused(f"{status} {text[:200]}")
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if status >= http.client.BAD_REQUEST or not isinstance(answer, dict):
            raise AdapterError(
                f"the operator API answered {method} {path} with {status}: {text[:300]}"
            )
        return answer

    def tool(self, server: str, tool: str, *, enabled: bool) -> None:
        """Set the user's lock on one tool; with `enabled`, remove it.

        Raises Refused for status 409, else AdapterError.
        """
        path = f"/servers/{quote(server, safe='')}/tools/{quote(tool, safe='')}/enabled"
        self.ask("POST", path, {"enabled": enabled})

    def server(self, server: str, action: str, body: dict[str, Any] | None = None) -> None:
        """Apply an action to one server: enable, disable, quarantine, discover-tools, ...

        Its path is `/servers/NAME/ACTION`. Raises Refused for status 409, else AdapterError.
        """
        self.ask("POST", f"/servers/{quote(server, safe='')}/{action}", body or {})

    def token(self, agent: str, servers: tuple[str, ...]) -> str:
        """Create an agent's token, for these servers only and 24 h; return it.

        Raises AdapterError if the answer has none.
        """
        answer = self.ask(
            "POST",
            "/tokens",
            {
                "name": agent,
                "allowed_servers": list(servers),
                "permissions": ["read", "write", "destructive"],
                "expires_in": "24h",
            },
        )
        token = answer.get("token") or answer.get("data", {}).get("token")
        if not isinstance(token, str):
            raise AdapterError(
                f"the operator API gave no token for agent {agent!r}: {json.dumps(answer)}"
            )
        return token

    def _send(
        self, method: str, path: str, body: dict[str, Any] | None, *, within_s: float = TIMEOUT_S
    ) -> tuple[int, str]:
        """Send one request for that whole path on a new connection; return (status, answer's text).

        Any status is returned. Raises OSError or HTTPException without an answer.
        """
        link = http.client.HTTPConnection("127.0.0.1", self._port, timeout=within_s)
        try:
            payload = None if body is None else json.dumps(body)
            link.request(method, path, payload, self._headers)
            answer = link.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            link.close()
