"""OAuth authorization server of a scripted MCP server: any client may register and get tokens."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_proxy_conformance.wire.jsonrpc import dumps

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcp_proxy_conformance.upstream.http import HttpRequest
    from mcp_proxy_conformance.verdict.cited import Headers

    Response = tuple[int, bytes, Headers]

RESOURCE, SERVER = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
)
REGISTER, AUTHORIZE, TOKEN = "/register", "/authorize", "/token"
JSON = ("Content-Type", "application/json")
BY_PAGE = "authorization_code"
GRANTS = (BY_PAGE, "client_credentials", "refresh_token")


class Authority:
    """OAuth for one endpoint, at its origin: a message needs a bearer token that was granted here.

    A user who visits the authorization page agrees at once. Only grant types and authorization
    codes are verified: no client, secret, redirect or PKCE.

    Attributes:
        tokens: The grant type of each access token, by the token.
        secrets: Every credential that it has given: tokens, and secrets of clients.
    """

    def __init__(self, url: str) -> None:
        """Grant tokens for the endpoint at this URL."""
        parts = urlsplit(url)
        self._path, self._url = parts.path, url
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._codes: set[str] = set()
        self.tokens: dict[str, str] = {}
        self.secrets: list[str] = []

    def answer(self, request: HttpRequest) -> Response | None:
        """Return (status, body, headers) for a request of OAuth; None for one that may pass.

        A request to the endpoint's path without a granted bearer token is answered by 401, with a
        challenge; requests to other paths pass.
        """
        path, _, query = request.path.partition("?")
        given = {name: values[0] for name, values in parse_qs(query).items()}
        if path in (RESOURCE, RESOURCE + self._path):
            return _document(
                resource=self._url, authorization_servers=[self._origin],
                bearer_methods_supported=["header"],
            )  # fmt: skip
        if path == SERVER:
            return _document(**self._metadata())
        if (request.method, path) == ("POST", REGISTER):
            return self._registered(request.body)
        if (request.method, path) == ("GET", AUTHORIZE):
            return self._agreed(given)
        if (request.method, path) == ("POST", TOKEN):
            return self._granted(parse_qs(request.body.decode("latin-1")))
        token = (request.header("authorization") or "").partition(" ")[2]
        if path != self._path or token in self.tokens:
            return None
        challenge = f'Bearer resource_metadata="{self._origin}{RESOURCE}{self._path}"'
        return 401, b"", (("WWW-Authenticate", challenge),)

    def _metadata(self) -> Mapping[str, Any]:
        """Return the metadata of the authorization server."""
        return {
            "issuer": self._origin,
            "authorization_endpoint": self._origin + AUTHORIZE,
            "token_endpoint": self._origin + TOKEN,
            "registration_endpoint": self._origin + REGISTER,
            "response_types_supported": ["code"],
            "grant_types_supported": [*GRANTS],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": [
                "none", "client_secret_post", "client_secret_basic",
            ],
        }  # fmt: skip

    def _registered(self, body: bytes) -> Response:
        """Register a client: return its metadata with a new id, 400 unless it is a JSON object.

        It gets a secret, too, unless its authentication method is `none`.
        """
        try:
            members = dict(json.loads(body))
        except (ValueError, TypeError):
            return 400, dumps({"error": "invalid_client_metadata"}), (JSON,)
        if members.get("token_endpoint_auth_method") != "none":
            members["client_secret"] = self._new("secret")
        members["client_id"] = secrets.token_hex(8)
        return 201, dumps(members), (JSON,)

    def _agreed(self, given: Mapping[str, str]) -> Response:
        """Redirect a user to the client's `redirect_uri` with a new code, without asking.

        `given` are the query parameters; a `state` among them is repeated.
        """
        code = secrets.token_hex(8)
        self._codes.add(code)
        back = given.get("redirect_uri", "")
        state = {"state": given["state"]} if "state" in given else {}
        query = urlencode({"code": code, "iss": self._origin, **state})
        joint = "&" if "?" in back else "?"
        return 302, b"", (("Location", f"{back}{joint}{query}"),)

    def _granted(self, form: Mapping[str, list[str]]) -> Response:
        """Grant an access token for a known grant type; 400 for another one, or an unknown code.

        `form` has the values of each parameter. An authorization code is of use once; only
        `client_credentials` gets no refresh token.
        """
        kind, code = form.get("grant_type", [""])[0], form.get("code", [""])[0]
        if kind not in GRANTS or (kind == BY_PAGE and code not in self._codes):
            return 400, dumps({"error": "invalid_grant"}), (JSON,)
        self._codes.discard(code)
        access = self._new("access")
        self.tokens[access] = kind
        refresh = {} if kind == "client_credentials" else {"refresh_token": self._new("refresh")}
        members = {"access_token": access, "token_type": "Bearer", "expires_in": 3600}
        return _document(**members, **refresh)

    def _new(self, kind: str) -> str:
        """Return a new credential, kept in `secrets`; `kind` and a random part make its text."""
        made = f"canary/{kind}+{secrets.token_hex(8)}="
        self.secrets.append(made)
        return made


def _document(**members: Any) -> Response:
    """Return a JSON document as a response, which caches may not store."""
    return 200, dumps(members), (JSON, ("Cache-Control", "no-store"))
