"""Comparisons of cache hints of MCP 2026-07-28 (`ttlMs`, `cacheScope`), and of private results."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.inputs import CAPABILITIES, GIVEN
from mcp_proxy_conformance.fidelity.offers import ASKING, COUNTED, NOTE
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.fidelity.stateless_client import meta
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import control
from mcp_proxy_conformance.wire.jsonrpc import list_of, object_of

PRIVATE, KEPT, PAGES = "RLY.era.cache.private", "RLY.era.cache.kept", "RLY.era.cache.pages"
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
MOST_PAGES = 20


def private_results(bench: RelayBench) -> Comparison:
    """Read as two clients with credentials of their own; no one gets what the other has got.

    Two private resources, whose text changes at each reading, are read; the second one needs a
    retry with input. Raises NotApplicable if the clients are refused, Inconclusive if the direct
    way shows nothing.
    """
    comparison = Comparison()
    bench.served("stateless")
    for uri, allowed in (
        (COUNTED, "what nobody else has got"),
        (ASKING, "a question, or an error"),
    ):
        own, texts = (
            [_read(bench, side, uri, user) for user in (0, 1)]
            for side in (bench.direct, bench.through)
        )
        control(None not in own and own[0] != own[1], f"the direct way does not show {uri}")
        if None in texts:
            continue
        comparison.truth(f"{uri}, read by the second client", texts[1], holds=texts[0] != texts[1],
                         allowed=allowed, breaks=[PRIVATE])  # fmt: skip
    return comparison.or_not_applicable(
        "the relay does not read a private resource for both clients"
    )


def kept_hints(bench: RelayBench) -> Comparison:
    """Compare the hints of lists and reads; what is private stays so, and is kept no longer.

    Raises Inconclusive if the direct way does not show them, or no result has any.
    """
    comparison = Comparison()
    bench.served("stateless")
    requests = [*((method, {}) for method in LISTS), ("resources/read", {"uri": NOTE})]
    for method, params in requests:
        own, shown = (
            _result(bench, side, method, params) for side in (bench.direct, bench.through)
        )
        control(
            own.get("cacheScope") == "private",
            f"the direct way does not show the hints of {method}",
        )
        scope, kept_ms = shown.get("cacheScope"), shown.get("ttlMs", 0)
        if scope is None and "ttlMs" not in shown:
            continue
        if scope is not None:
            comparison.truth(f"cacheScope of {method}", scope, holds=scope != "public",
                             allowed="private", breaks=[KEPT])  # fmt: skip
        holds = isinstance(kept_ms, int | float) and kept_ms <= own["ttlMs"]
        comparison.truth(f"ttlMs of {method}", kept_ms, holds=holds, breaks=[KEPT],
                         allowed=f"at most {own['ttlMs']}")  # fmt: skip
    control(comparison.looked, "no result has hints for caches")
    return comparison


def page_scopes(bench: RelayBench) -> Comparison:
    """Walk along the pages of lists; all pages of one have the same scope, or none has any.

    A walk ends where a request has no result. Raises NotApplicable if no list has several pages
    with hints.
    """
    comparison = Comparison()
    bench.served("stateless")
    for method in LISTS:
        scopes: list[Any] = []
        cursor: Any = None
        while len(scopes) < MOST_PAGES:
            asked = {} if cursor is None else {"cursor": cursor}
            if not (result := _result(bench, bench.through, method, asked)):
                break
            scopes.append(result.get("cacheScope"))
            if (cursor := result.get("nextCursor")) is None:
                break
        if len(scopes) > 1 and any(scope is not None for scope in scopes):
            same = [scopes[:1] * len(scopes)]
            comparison.one_of(f"scopes of the pages of {method}", scopes, same, breaks=[PAGES])
    return comparison.or_not_applicable("no list has several pages with hints for caches")


def _read(bench: RelayBench, side: Side, uri: str, user: int) -> str | None:
    """Read a resource as the first (0) or second (1) user; return its text, None if refused.

    If the server asks for input, the first user retries with it; for the second, the read ends
    there and "" is returned.
    """
    with closing(bench.relay.stateless(side)) as client:
        own = {"own_meta": meta(clientCapabilities=CAPABILITIES)}
        headers = bench.user(user)
        shown = client.ask("resources/read", {"uri": uri}, headers=headers, **own).result
        if questions := object_of(shown.get("inputRequests")):
            if user:
                return ""
            params = {
                "uri": uri,
                "inputResponses": dict.fromkeys(questions, GIVEN),
                **{name: shown[name] for name in ("requestState",) if name in shown},
            }
            shown = client.ask("resources/read", params, headers=headers, **own).result
    texts = [object_of(each).get("text") for each in list_of(shown.get("contents"))]
    return str(texts[0]) if texts else None


def _result(
    bench: RelayBench, side: Side, method: str, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    with closing(bench.relay.stateless(side)) as client:
        return client.ask(method, params).result
