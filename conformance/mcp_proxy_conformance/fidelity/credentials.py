"""Comparisons of credentials: clients' secrets seen at the upstream, and its secrets at clients."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from mcp_proxy_conformance.fidelity import several, way_back
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.relay_target import SHORTEST_TOKEN
from mcp_proxy_conformance.fidelity.started_relay import (
    IN_ENVIRONMENT,
    OF_RELAY,
    SECOND_KEY,
    SECOND_TOKEN,
    UPSTREAM_KEY,
    UPSTREAM_TOKEN,
)
from mcp_proxy_conformance.upstream.journal import Arrival
from mcp_proxy_conformance.upstream.relayed import Refusing
from mcp_proxy_conformance.upstream.relayed_stateless import relayed_server
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.exposed_secret import shows
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable, applies, control
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.jsonrpc import dumps

TOKEN, OTHER, QUERY = "RLY.cred.down.token", "RLY.cred.down.other", "RLY.cred.down.query"
SIDEWAYS, INHERITED = "RLY.cred.down.sideways", "RLY.cred.down.environment"
UP, LOG = "RLY.cred.up.token", "RLY.cred.up.log"
AUTHORIZATION, HEADERS = "Authorization", "the headers of a client"
CLIENT_TOKEN = "canary/of+the-client-c1a55e="  # noqa: S105 - a canary, not a secret
OTHERS: Mapping[str, str] = {
    "Cookie": "canary/in+a-cookie-90ef3d",
    "X-Api-Key": "canary/in+a-header-5b7702",
}
"""Other credentials of a client, by the header that has them."""
HELD: Mapping[str, str] = {
    "the token": UPSTREAM_TOKEN,
    "the key in its URL": UPSTREAM_KEY,
    "the key in the environment": IN_ENVIRONMENT,
}
"""Credentials of the upstream that the relay holds."""
REDIRECT = 307
REFUSED = (401, 403, 500)
"""Statuses with which the upstream refuses calls; errors about them may tell what was asked."""


def token_sent_on(bench: RelayBench) -> Comparison:
    """Search all that the upstream gets of a client with credentials for its token.

    Raises NotApplicable over stdio, or if the relay declares to forward it; Inconclusive if the
    relay does not serve the client.
    """
    if AUTHORIZATION.lower() in map(str.lower, bench.facts.forwards):
        reason = f"the relay declares that it forwards {AUTHORIZATION}"
        raise NotApplicable(reason)
    comparison = Comparison(origin=HEADERS)
    _, arrivals = _arrivals(bench)
    _search(comparison, AUTHORIZATION, _token(bench), arrivals, clause=TOKEN)
    return comparison


def others_sent_on(bench: RelayBench) -> Comparison:
    """Search all that the upstream gets of a client for its credentials other than the token.

    Those that the relay declares to forward are left out, and a session id that is too short to be
    a secret. Raises NotApplicable over stdio, Inconclusive if the relay does not serve the client.
    """
    comparison = Comparison(origin=HEADERS)
    client, arrivals = _arrivals(bench)
    forwards = {name.lower() for name in bench.facts.forwards}
    owned = dict(OTHERS)
    if client.session and len(client.session) >= SHORTEST_TOKEN:
        owned["Mcp-Session-Id"] = client.session
    issued = bench.through.server.issued
    for name, secret in owned.items():
        if name.lower() not in forwards:
            _search(comparison, name, secret, arrivals, clause=OTHER, issued=issued)
    return comparison


def in_urls(bench: RelayBench) -> Comparison:
    """Search the URLs that the upstream is asked for, for the client's token and the relay's own.

    Raises NotApplicable if the client or the upstream is over stdio, Inconclusive if the relay does
    not serve the client.
    """
    comparison = Comparison()
    _arrivals(bench)
    bench.needs_http()
    lines = [arrival.line for arrival in bench.through.server.journal.since()]
    tokens = [_token(bench), UPSTREAM_TOKEN]
    urls = [line for line in lines if any(_shows(token, line) for token in tokens)]
    comparison.one_of("URLs with a token", urls[:3], [[]], breaks=[QUERY])
    return comparison


def _token(bench: RelayBench) -> str:
    """Return the token that a client shows the relay: a declared one, else one that it ignores."""
    return bench.facts.clients[0] if bench.facts.clients else CLIENT_TOKEN


def _arrivals(bench: RelayBench) -> tuple[Conversation, Sequence[Arrival]]:
    """Have a client with credentials list and call; return (the client, what arrives meanwhile).

    Raises NotApplicable over stdio, where a client has no headers; Inconclusive if the relay does
    not serve that client, or nothing arrives.
    """
    bench.needs_tool("echo")
    headers = {AUTHORIZATION: f"Bearer {_token(bench)}", **OTHERS}
    applies(bench.relay.target.transport != "stdio", "a client over stdio has no headers")
    client, journal = bench.through.client(headers), bench.through.server.journal
    mark = journal.mark()
    try:
        bench.through.list_anew(client)
    except (Unreachable, ProtocolFault) as fault:
        raise Inconclusive(f"the relay does not serve a client with credentials: {fault}") from None
    bench.through.call("echo", b'{"x":1}', client=client)
    arrivals = journal.since(mark)
    control(arrivals, "nothing of that client reached the upstream")
    return client, arrivals


def _search(
    comparison: Comparison, name: str, secret: str, arrivals: Sequence[Arrival], *, clause: str,
    issued: Collection[str] = (),
) -> None:  # fmt: skip
    comparison.one_of(
        f"places at the upstream that show the client's {name}", places(secret, arrivals, issued),
        [[]], breaks=[clause],
    )  # fmt: skip


def redirected(bench: RelayBench) -> Comparison:
    """Redirect a call to another server, and search what arrives there for the upstream's secrets.

    Raises NotApplicable if the relay shows the upstream none, as over stdio.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    server, client = bench.through.server, bench.through.client()
    bench.through.call("echo", b'{"x":1}', client=client)
    held = {name: secret for name, secret in HELD.items() if places(secret, server.journal.since())}
    applies(held, "the relay shows its upstream no credential")
    elsewhere = bench.relay.hub.add(relayed_server("elsewhere", server.given))
    server.refusing = Refusing(status=REDIRECT, location=elsewhere.url)
    bench.through.call("echo", b'{"x":1}', client=client)
    bench.through.call("echo", b'{"x":2}')
    for name, secret in held.items():
        comparison.one_of(
            f"places at a server to which the upstream redirects that show {name}",
            places(secret, elsewhere.journal.since()), [[]], breaks=[SIDEWAYS],
        )  # fmt: skip
    return comparison


def sideways(bench: RelayBench) -> Comparison:
    """List and call the tools of two upstreams, and search what each gets for the other's secrets.

    Raises NotApplicable for a relay of one upstream, or if it shows none of them a credential.
    """
    comparison = Comparison()
    upstreams = several.both(bench)
    several.call_all(bench)
    owned = ((UPSTREAM_TOKEN, UPSTREAM_KEY), (SECOND_TOKEN, SECOND_KEY))
    for number, secrets in enumerate(owned):
        own, other = upstreams[number].journal, upstreams[1 - number].journal
        for name, secret in zip(("token", "key in the URL"), secrets, strict=True):
            if places(secret, own.since()):
                comparison.one_of(
                    f"places at the {several.WHICH[1 - number]} upstream that show the {name} of"
                    f" the {several.WHICH[number]}",
                    places(secret, other.since()), [[]], breaks=[SIDEWAYS],
                )  # fmt: skip
    return comparison.or_not_applicable("the relay shows its upstreams no credentials")


def inherited(bench: RelayBench) -> Comparison:
    """Search the environment of the upstream's program for a secret that is the relay's own.

    Raises NotApplicable if the relay reaches the upstream over HTTP.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    environments = bench.through.server.environments
    applies(environments, "the relay starts no program")
    shown = sum(_shows(OF_RELAY, text) for text in environments)
    comparison.one_of(
        "programs that find a secret of the relay in their environment", shown, [0],
        breaks=[INHERITED],
    )  # fmt: skip
    return comparison


def given_out(bench: RelayBench) -> Comparison:
    """Make the relay answer well and badly, and search all that its clients get of it.

    The upstream refuses calls, by HTTP too where it is reached so, and then ends, so that errors
    tell of it. Raises Inconclusive if the relay does not list `echo`.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    relay, client = bench.relay, bench.through.client()
    mark = relay.transcript.mark()
    bench.through.list_anew(client)
    for tool in ("echo", "no such tool"):
        bench.through.call(tool, b'{"x":1}', client=client)
    if bench.reaches_by_http:
        for status in REFUSED:
            bench.through.server.refusing = Refusing(status=status)
            bench.through.call("echo", b'{"x":1}', client=client)
        bench.through.server.refusing = None
    relay.stop_upstream()
    bench.through.call("echo", b'{"x":1}', client=client)
    texts = received(bench, mark)
    for name, secret in HELD.items():
        comparison.one_of(
            f"answers to a client that show {name} of the upstream", showing(secret, texts)[:5],
            [[]], breaks=[UP],
        )  # fmt: skip
    return comparison


def received(bench: RelayBench, mark: int) -> Sequence[tuple[str, str]]:
    """Return (note, headers and body) of what clients have got of the relay after a mark."""
    return [
        (
            message.note,
            "\n".join([*map(": ".join, message.headers), message.raw.decode(errors="replace")]),
        )
        for message in bench.relay.transcript.since(mark)
        if message.edge == "client"
        and message.direction == "received"
        and message.peer != bench.direct.server.url
    ]


def showing(secret: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    """Return the notes of the texts that show a secret, sorted."""
    return sorted({note for note, text in texts if _shows(secret, text)})


def logged(bench: RelayBench) -> Comparison:
    """Have the upstream log, and search the log messages that a client gets for credentials.

    Raises NotApplicable if none arrives.
    """
    comparison = Comparison()
    way_back.needs_messages(bench)
    messages = way_back.logged(bench, bench.through)
    applies(messages, "no log message arrives")
    texts = [each.raw.decode(errors="replace") for each in messages]
    for name, secret in HELD.items():
        shown = sum(_shows(secret, text) for text in texts)
        comparison.one_of(f"log messages that show {name} of the upstream", shown, [0],
                          breaks=[LOG])  # fmt: skip
    return comparison


def places(secret: str, arrivals: Iterable[Arrival], issued: Collection[str] = ()) -> list[str]:
    """Return in words where arrivals show a secret, each place once: a header, a line, a body.

    Nothing is searched in texts that the upstream itself has issued.
    """
    places: dict[str, None] = {}
    for arrival in arrivals:
        texts = [(f"header {name}", value) for name, value in arrival.headers]
        texts += ("request line", arrival.line), ("message", arrival.raw.decode(errors="replace"))
        for place, text in texts:
            for own in issued:
                text = text.replace(own, "")  # noqa: PLW2901
            if _shows(secret, text):
                places.setdefault(f"{place} of {arrival.method}")
    return list(places)


@lru_cache(4096)
def _shows(secret: str, text: str) -> bool:
    r"""Whether a text shows a secret in any encoding, also with the escape `\/` of JSON."""
    return shows(secret, dumps(text.replace("\\/", "/")))
