"""Comparison of OAuth tokens that a relay obtains for its upstream: no client may get one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urljoin, urlsplit

from mcp_proxy_conformance.fidelity import way_back
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.credentials import REFUSED, UP, received, showing
from mcp_proxy_conformance.fidelity.crossings import URLS, VISITED
from mcp_proxy_conformance.fidelity.listening_client import ListeningClient
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.authority import BY_PAGE, Authority
from mcp_proxy_conformance.upstream.relayed import Refusing
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import applies
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import Http
from mcp_proxy_conformance.wire.transcript import Transcript

OBTAINED = "RLY.cred.up.obtained"
ELICITS, NEEDS_A_VISIT = "elicitation/create", -32042
ATTEMPTS, HOPS, ANSWERS_S, PAGE_S = 2, 5, 10.0, 5.0
MOVED = range(300, 400)
NO_PAGE = "the relay gets its token without a page, which another clause judges"


def obtained(bench: RelayBench) -> Comparison:
    """Have the upstream demand a token, visit the pages a client is sent to; no token may leak.

    All that clients get is searched for it, also after calls that the upstream refuses. A leak of
    a token that came without such a page breaks another clause. Raises NotApplicable if the relay
    reaches the upstream over stdio, shows it no token of its authorization server, or lets nobody
    visit a page.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    bench.needs_http()
    server, relay = bench.through.server, bench.relay
    with closing(way_back.connected(bench, bench.through, URLS)) as client:
        client.answers |= VISITED
        mark, arrived = relay.transcript.mark(), server.journal.mark()
        server.authority = Authority(server.url)
        _sign_in(bench, client)
        headers = [value for each in server.journal.since(arrived) for _, value in each.headers]
        granted = server.authority.tokens
        kinds = {kind for token, kind in granted.items() if any(token in text for text in headers)}
        applies(kinds, "the relay shows its upstream no token that it has got for it")
        for status in REFUSED:
            server.refusing = Refusing(status=status)
            _call(bench, client)
        heard = [
            (each.method or "an answer", each.raw.decode(errors="replace"))
            for each in client.received()
        ]
    by_page = BY_PAGE in kinds
    texts = [*received(bench, mark), *heard]
    found = {note for secret in server.authority.secrets for note in showing(secret, texts)}
    comparison.one_of(
        "messages to a client that show a credential that the relay was granted",
        sorted(found)[:5], [[]], breaks=[OBTAINED] if by_page else [UP],
    )  # fmt: skip
    if by_page:
        return comparison
    applies(comparison.findings, NO_PAGE)
    return comparison.leaving_open([OBTAINED], NO_PAGE)


def _sign_in(bench: RelayBench, client: ListeningClient) -> None:
    """Call, visit the pages that the client is asked to and, if there are any, call once more.

    It is asked by elicitations while a call goes on, or by the error that answers it. The second
    call is made only if the first has no result.
    """
    visited = set[str]()
    for _ in range(ATTEMPTS):
        with ThreadPoolExecutor(1) as crew:
            calling = crew.submit(_call, bench, client)

            def look() -> bool:
                is_over = calling.done()  # noqa: B023 - called while this call goes on
                for each in client.received(ELICITS):
                    _visit(bench, each.params.get("url"), visited)
                return is_over

            poll(look, bool, ANSWERS_S)
            answer = calling.result()
        for url in _pages(answer):
            _visit(bench, url, visited)
        if "result" in answer or not visited:
            return


def _call(bench: RelayBench, client: ListeningClient) -> Mapping[str, Any]:
    params = {"name": bench.through.name_of("echo"), "arguments": {"x": 1}}
    return client.request("tools/call", params)


def _pages(answer: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the URL of each elicitation in a call's error -32042; nothing for another answer.

    It is as the relay sent it, of any type; None if there is none.
    """
    error = answer.get("error")
    if isinstance(error, dict) and error.get("code") == NEEDS_A_VISIT:
        data = error.get("data")
        pages = data.get("elicitations") if isinstance(data, dict) else None
        for each in pages if isinstance(pages, list) else ():
            yield each.get("url") if isinstance(each, dict) else None


def _visit(bench: RelayBench, url: Any, visited: set[str]) -> None:
    """Visit a page, as a user who agrees, and follow up to four redirects; errors are ignored.

    Only hosts of the upstream, the relay and `localhost` are visited. A URL in `visited` is not
    visited again; new ones are added there.
    """
    own = (bench.through.server.url, bench.relay.command_line.url, "http://localhost")
    hosts = {urlsplit(each).hostname for each in own}
    for _ in range(HOPS):
        if not isinstance(url, str) or url in visited:
            return
        try:
            if urlsplit(url).hostname not in hosts:
                return
            visited.add(url)
            with closing(Http(url, Transcript())) as http:
                page = http.exchange("GET", b"", [], note="page", timeout=PAGE_S)
            url = urljoin(url, page.header("location") or "") if page.status in MOVED else None
        except (Unreachable, ProtocolFault, ValueError):
            return
