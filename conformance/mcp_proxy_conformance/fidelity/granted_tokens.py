"""Comparison of OAuth tokens that a relay obtains for its upstream: no client may get one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urljoin, urlsplit

from mcp_proxy_conformance.fidelity import way_back
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.credentials import REFUSED, UP, received, showing
from mcp_proxy_conformance.fidelity.crossings import URLS, VISITED
from mcp_proxy_conformance.fidelity.listening_client import ListeningClient
from mcp_proxy_conformance.targets.started import poll
from mcp_proxy_conformance.upstream.authority import BY_PAGE, Authority
from mcp_proxy_conformance.upstream.relayed import Refusing
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import Http
from mcp_proxy_conformance.wire.transcript import Transcript

OBTAINED = "RLY.cred.up.obtained"
ELICITS, NEEDS_A_VISIT = "elicitation/create", -32042
ATTEMPTS, HOPS, ANSWERS_S, PAGE_S = 2, 5, 10.0, 5.0
MOVED = range(300, 400)
NO_PAGE = "the relay gets its token without a page, which another clause judges"


def obtained(bench: RelayBench) -> Comparison:
    """Have the upstream ask for a token, visit the pages that a client is asked to, and search.

    The upstream refuses calls then, so that errors tell of it. A leak of a token that came without
    such a page breaks the clause of all that a relay holds. Raises NotApplicable if the relay
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
        if not kinds:
            raise NotApplicable("the relay shows its upstream no token that it has got for it")
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
    if not comparison.findings:
        raise NotApplicable(NO_PAGE)
    return comparison.leaving_open([OBTAINED], NO_PAGE)


def _sign_in(bench: RelayBench, client: ListeningClient) -> None:
    """Call, visit the pages that the client is asked to and, if there are any, call again.

    It is asked by elicitations while a call goes on, or by the error that answers it.
    """
    visited = set[str]()
    for _ in range(ATTEMPTS):
        with ThreadPoolExecutor(1) as crew:
            calling = crew.submit(_call, bench, client)

            def look() -> bool:
                """Visit the pages of new elicitations; return whether the call is answered."""
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
    """Call a tool; return the members of the answer."""
    params = {"name": bench.through.name_of("echo"), "arguments": {"x": 1}}
    return client.request("tools/call", params)


def _pages(answer: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the URLs of the pages that a call's error asks to visit, first of all."""
    error = answer.get("error")
    if isinstance(error, dict) and error.get("code") == NEEDS_A_VISIT:
        data = error.get("data")
        pages = data.get("elicitations") if isinstance(data, dict) else None
        for each in pages if isinstance(pages, list) else ():
            yield each.get("url") if isinstance(each, dict) else None


def _visit(bench: RelayBench, url: Any, visited: set[str]) -> None:
    """Visit a page once, as a user who agrees: its redirects are followed, within this machine.

    Pages of other hosts than the upstream's and the relay's are not visited.
    """
    hosts = {urlsplit(each).hostname for each in _own(bench)}
    for _ in range(HOPS):
        if not isinstance(url, str) or url in visited or urlsplit(url).hostname not in hosts:
            return
        visited.add(url)
        try:
            with closing(Http(url, Transcript())) as http:
                page = http.exchange("GET", b"", [], note="page", timeout=PAGE_S)
        except (Unreachable, ProtocolFault, ValueError):
            return
        url = urljoin(url, page.header("location") or "") if page.status in MOVED else None


def _own(bench: RelayBench) -> Collection[str]:
    """Return URLs of the hosts of this run: the upstream's, the relay's, and the loopback."""
    return (bench.through.server.url, bench.relay.command_line.url, "http://localhost")
