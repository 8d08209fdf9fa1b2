"""A relay that signs in to its upstream by OAuth: by a page that a user visits, or as itself."""

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2

from mcp_proxy_mutants.fidelity.changed import JSON
from mcp_proxy_mutants.fidelity.mutant import MakeRemote
from mcp_relay_reference import message
from mcp_relay_reference.front import Front, Receive, Send
from mcp_relay_reference.remote import Remote, Reply, Unreachable
from mcp_relay_reference.several import Several

BACK, RESOURCE = "/granted", "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
NEEDS_A_VISIT = -32042


class SigningIn(Remote):
    """An upstream whose authorization server grants a token, which the upstream is shown.

    Attributes:
        token: The token; empty before it is granted.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """Keep the upstream's URL and the relay's own headers; ask for nothing yet."""
        super().__init__(url, headers)
        self.token = ""
        self._able: set[str | None] = set()
        self._begun: dict[str, tuple[str, dict[str, str]]] = {}

    @asynccontextmanager
    async def exchange(
        self, method: str, headers: Mapping[str, str], session: str | None, body: bytes
    ) -> AsyncIterator[Reply]:
        """Send a client's request on; a call that is refused may be answered by a page to visit.

        That is for clients that can be elicited a URL. Raises Unreachable for another refusal.
        """
        async with AsyncExitStack() as stack:
            try:
                asked = super().exchange(method, headers, session, body)
                reply = await stack.enter_async_context(asked)
            except Unreachable as error:
                is_call = session in self._able and b'"tools/call"' in body
                page = await self._page(headers["host"]) if is_call else ""
                if not page:
                    raise self.refusal(error) from None
                reply = Reply(200, dict(JSON), None, _visiting(body, page))
            if b'"initialize"' in body and b'"url"' in body:
                self._able.add(reply.session)
            yield self.shown(reply)

    async def redeem(self, code: str, state: str) -> None:
        """Have a token granted for a code, once, and show it to the upstream from then on."""
        place, form = self._begun.pop(state)
        await self.granted(place, {**form, "code": code})

    def refusal(self, error: Unreachable) -> Unreachable:
        """Return what a client is told of a refusal of the upstream."""
        return error

    def shown(self, reply: Reply) -> Reply:
        """Return what a client gets of an answer of the upstream."""
        return reply

    async def granted(self, place: str, form: Mapping[str, str]) -> None:
        """Ask for a token by a form, and show it to the upstream from then on."""
        async with httpx2.AsyncClient(trust_env=False) as http:
            answer = await http.post(place, data=form)
        self.token = answer.json()["access_token"]
        self._own["authorization"] = f"Bearer {self.token}"

    async def registered(self, back: str) -> tuple[Mapping[str, Any], Mapping[str, str]] | None:
        """Register at the upstream's authorization server, with a place to come back to.

        Return (its metadata, the members of a request for a token); None if there is none.
        """
        place = urlsplit(self._url)
        origin = f"{place.scheme}://{place.netloc}"
        async with httpx2.AsyncClient(trust_env=False) as http:
            about = await http.get(f"{origin}{RESOURCE}{place.path}")
            if about.status_code != 200:  # noqa: PLR2004
                return None
            issuer = about.json()["authorization_servers"][0]
            facts = (await http.get(f"{issuer}{SERVER}")).json()
            wanted = {"client_name": "relay", "redirect_uris": [back]}
            own = (await http.post(facts["registration_endpoint"], json=wanted)).json()
        return facts, {name: own[name] for name in ("client_id", "client_secret")}

    async def _page(self, host: str) -> str:
        """Return the URL of the page on which a user agrees; empty if the upstream has none.

        It leads back to this relay, at `host`, with a state of which it knows the request.
        """
        back = f"http://{host}{BACK}"
        if (known := await self.registered(back)) is None:
            return ""
        facts, own = known
        state, verifier = secrets.token_urlsafe(16), secrets.token_urlsafe(48)
        self._begun[state] = facts["token_endpoint"], {
            "grant_type": "authorization_code", "redirect_uri": back, "code_verifier": verifier,
            **own,
        }  # fmt: skip
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        query = {
            "response_type": "code", "client_id": own["client_id"], "redirect_uri": back,
            "state": state, "code_challenge": digest.rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{facts['authorization_endpoint']}?{urlencode(query)}"


class Registering(SigningIn):
    """An upstream whose token the relay is granted as itself, without a user."""

    @asynccontextmanager
    async def exchange(
        self, method: str, headers: Mapping[str, str], session: str | None, body: bytes
    ) -> AsyncIterator[Reply]:
        """Send a client's request on, once more after a refusal that a token ends.

        Raises Unreachable for another refusal.
        """
        async with AsyncExitStack() as stack:
            try:
                asked = Remote.exchange(self, method, headers, session, body)
                reply = await stack.enter_async_context(asked)
            except Unreachable as error:
                known = await self.registered("http://127.0.0.1") if not self.token else None
                if known is None:
                    raise self.refusal(error) from None
                facts, own = known
                form = {"grant_type": "client_credentials", **own}
                await self.granted(facts["token_endpoint"], form)
                asked = Remote.exchange(self, method, headers, session, body)
                reply = await stack.enter_async_context(asked)
            yield self.shown(reply)


class Returning(Front):
    """A front with a page to which users come back who have agreed."""

    def __init__(self, remote: Remote) -> None:
        """Keep the way to the upstream."""
        super().__init__(remote)
        self._remote = remote

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Redeem the code of a user who comes back; relay other requests."""
        given = dict(parse_qsl(scope["query_string"].decode()))
        if scope["path"] != BACK or not isinstance(self._remote, SigningIn):
            await super().__call__(scope, receive, send)
            return
        await self._remote.redeem(given["code"], given["state"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"You may close this page."})


def signing_in(kind: type[SigningIn] = SigningIn) -> MakeRemote:
    """Return a maker of the way to an upstream that is signed in to; several are not."""

    def make(upstreams: Sequence[tuple[str, Mapping[str, str]]]) -> Remote:
        if len(upstreams) == 1:
            return kind(*upstreams[0])
        return Several([Remote(*each) for each in upstreams])

    return make


async def _visiting(body: bytes, page: str) -> AsyncIterator[bytes]:
    """Yield the error that answers a call, by which a client is asked to visit a page."""
    visit = {"mode": "url", "elicitationId": secrets.token_hex(8), "url": page,
             "message": "Sign in to the upstream."}  # fmt: skip
    own_id = message.read(body).id
    yield message.failure(own_id, NEEDS_A_VISIT, "Sign in first.", {"elicitations": [visit]})
