"""Comparisons of features beside tools: what is declared, listed, read, got, completed and set."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench, record
from mcp_proxy_conformance.fidelity.exact_json import ABSENT, Pairs
from mcp_proxy_conformance.fidelity.offers import (
    ARGUMENTS,
    COMPLETIONS,
    INSTRUCTIONS,
    MISSING,
    READS,
)
from mcp_proxy_conformance.fidelity.side import Outcome, Side, outcome
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.jsonrpc import dumps

DECLARED, LACKING = "RLY.features.declared", "RLY.features.lacking"
LISTED, READ = "RLY.features.resources.list", "RLY.features.resources.read"
PROMPTS, COMPLETED = "RLY.features.prompts", "RLY.features.completions"
PING, TOLD = "RLY.features.ping", "RLY.features.instructions"
ANSWERED_BY: Mapping[str, str] = {
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "prompts/list": "prompts",
    "completion/complete": "completions",
    "logging/setLevel": "logging",
    "tools/list": "tools",
}
"""The capability that each request belongs to."""
MOST_PAGES = 20


def capabilities(side: Side) -> Mapping[str, Any]:
    """Return what a way declares in the handshake of the client that checks share."""
    opening = side.main.open().opening
    value = {} if opening is None else opening.value().get("capabilities")
    return value if isinstance(value, dict) else {}


def needs_capability(bench: RelayBench, name: str, member: str = "") -> None:
    """Raise NotApplicable unless the relay declares that capability, and that member of it."""
    declared = capabilities(bench.through).get(name)
    whole = f"{name}.{member}" if member else name
    if declared is None or (member and not (isinstance(declared, dict) and declared.get(member))):
        raise NotApplicable(f"{whole} is not declared", cause="not_declared")


def asked(side: Side, method: str, params: Mapping[str, Any] | None = None) -> Outcome:
    """Send a request in the shared session; return its outcome."""
    try:
        return outcome(side.main.request(method, raw_params=dumps(params or {})))
    except (Unreachable, ProtocolFault) as fault:
        return Outcome(kind="none", value=str(fault))


def asking(method: str, params: Mapping[str, Any]) -> Callable[[Side], Outcome]:
    """Return the act of sending that request."""
    return lambda side: asked(side, method, params)


def declared_answers(bench: RelayBench) -> Comparison:
    """Ask for every feature; what is answered with a result has to be declared."""
    comparison = Comparison()
    declared = capabilities(bench.through)
    params: Mapping[str, Mapping[str, Any]] = {
        "completion/complete": COMPLETIONS[0][0],
        "logging/setLevel": {"level": "error"},
    }
    for method, capability in ANSWERED_BY.items():
        if asked(bench.direct, method, params.get(method)).kind == "none":
            raise Inconclusive(f"the direct way does not answer {method}")
        shown = asked(bench.through, method, params.get(method))
        observed = "answered, not declared" if shown.kind == "result" else "not answered"
        comparison.one_of(
            f"{method}: {capability}", "declared" if capability in declared else observed,
            ["declared", "not answered"], breaks=[DECLARED],
        )  # fmt: skip
    return comparison


def lacking(bench: RelayBench) -> Comparison:
    """Compare what the relay declares with what the upstream does: features, and parts of them."""
    comparison = Comparison()
    own, shown = capabilities(bench.direct), capabilities(bench.through)
    names = {*ANSWERED_BY.values(), "tasks"}
    if shown.get("experimental"):  # an empty object offers nothing
        names.add("experimental")
    extra = sorted(name for name in names if name in shown and name not in own)
    comparison.one_of("capabilities that the upstream lacks", extra, [[]], breaks=[LACKING])
    subscribes = isinstance(resources := shown.get("resources"), dict) and resources.get(
        "subscribe"
    )
    if subscribes and "resources" in own:
        holds = own["resources"].get("subscribe") is True
        comparison.truth(
            "resources.subscribe", "declared", holds=holds, allowed="absent", breaks=[LACKING]
        )
    return comparison


def resource_lists(bench: RelayBench) -> Comparison:
    """Compare all pages of resources and templates, each entry by its URI."""
    needs_capability(bench, "resources")
    comparison = Comparison()
    _compare_lists(bench, comparison, "resources/list", ("resources", "uri"), LISTED)
    _compare_lists(
        bench, comparison, "resources/templates/list", ("resourceTemplates", "uriTemplate"), LISTED
    )
    return comparison


def resource_reads(bench: RelayBench) -> Comparison:
    """Read every resource, and one that does not exist, and compare the outcomes."""
    needs_capability(bench, "resources")
    comparison = Comparison()
    for uri in READS:
        own, shown = bench.both(asking("resources/read", {"uri": uri}))
        if own.kind != "result":
            raise Inconclusive(f"the direct way does not read {uri}")
        path = ("result", "contents")
        allowed = _decoded(exact_json.at(own.document, path))
        observed = _decoded(exact_json.at(shown.document, path))
        record(comparison, f"contents of {uri}", allowed, observed, (READ,), additions=True)
    shown = asked(bench.through, "resources/read", {"uri": MISSING})
    comparison.truth(
        "reading a resource that does not exist", shown.kind, holds=shown.kind == "error",
        allowed="an error", breaks=[READ],
    )  # fmt: skip
    return comparison


def prompts(bench: RelayBench) -> Comparison:
    """Compare the listed prompts, each prompt with its arguments, and one that does not exist."""
    needs_capability(bench, "prompts")
    comparison = Comparison()
    _compare_lists(bench, comparison, "prompts/list", ("prompts", "name"), PROMPTS)
    for name, given in ARGUMENTS.items():
        params = {"name": f"{name}", "arguments": given}
        mark = bench.through.server.journal.mark()
        own, shown = bench.both(asking("prompts/get", params))
        path = ("result", "messages")
        record(
            comparison, f"messages of {name}", exact_json.at(own.document, path),
            exact_json.at(shown.document, path), (PROMPTS,), additions=True,
        )  # fmt: skip
        what = ("prompts/get", "arguments", PROMPTS)
        _compare_arrived(bench, comparison, mark, what, given)
    shown = asked(bench.through, "prompts/get", {"name": "no such prompt"})
    comparison.truth(
        "a prompt that does not exist", shown.kind, holds=shown.kind == "error",
        allowed="an error", breaks=[PROMPTS],
    )  # fmt: skip
    return comparison


def completions(bench: RelayBench) -> Comparison:
    """Complete arguments of a prompt and of a template, and compare both directions."""
    needs_capability(bench, "completions")
    comparison = Comparison()
    for params, _ in COMPLETIONS:
        mark = bench.through.server.journal.mark()
        own, shown = bench.both(asking("completion/complete", params))
        path, place = ("result", "completion"), f"completion of {params['argument']['name']}"
        record(
            comparison, place, exact_json.at(own.document, path),
            exact_json.at(shown.document, path), (COMPLETED,), additions=True,
        )  # fmt: skip
        for member, given in params.items():
            what = ("completion/complete", member, COMPLETED)
            _compare_arrived(bench, comparison, mark, what, given)
    return comparison


def pinged(bench: RelayBench) -> Comparison:
    """Ping the relay: an empty result comes back, which may have `_meta`."""
    comparison = Comparison()
    shown = asked(bench.through, "ping")
    members = sorted({*shown.value.last()} - {"_meta"}) if isinstance(shown.value, Pairs) else []
    comparison.truth(
        "answer to a ping", {"kind": shown.kind, "members": members},
        holds=shown.kind == "result" and not members, allowed="an empty result", breaks=[PING],
    )  # fmt: skip
    return comparison


def instructions(bench: RelayBench) -> Comparison:
    """Look for the upstream's instructions among those of the relay."""
    comparison = Comparison()
    opening = bench.through.main.open().opening
    shown = "" if opening is None else opening.value().get("instructions", "")
    comparison.truth(
        "instructions", shown, holds=isinstance(shown, str) and INSTRUCTIONS in shown,
        allowed=INSTRUCTIONS, breaks=[TOLD], described=False,
    )  # fmt: skip
    return comparison


def _compare_lists(
    bench: RelayBench, comparison: Comparison, method: str, names: tuple[str, str], clause: str
) -> None:
    """Compare the entries of all pages of a list, in any order; `names` are its member and key."""
    member, key = names
    own, shown = bench.both(lambda side: _entries(side, method, member))
    if not own:
        raise Inconclusive(f"the direct way lists nothing at {method}")
    keys = [str(exact_json.at(entry, (key,))) for entry in shown]
    twice = sorted(name for name, count in Counter(keys).items() if count > 1)
    comparison.one_of(f"{method}: listed more than once", twice, [[]], breaks=[clause])
    extra = sorted({*keys} - {str(exact_json.at(entry, (key,))) for entry in own})
    comparison.one_of(f"{method}: not the upstream's", extra, [[]], breaks=[clause])
    by_key = dict(zip(keys, shown, strict=True))
    for entry in own:
        name = str(exact_json.at(entry, (key,)))
        place = f"{method}: {name}"
        record(comparison, place, entry, by_key.get(name, ABSENT), (clause,), additions=True)


def _entries(side: Side, method: str, member: str) -> list[Any]:
    """Return the entries of all pages of a list; those before a refusal."""
    entries: list[Any] = []
    params: dict[str, Any] = {}
    for _ in range(MOST_PAGES):
        page = asked(side, method, params).document
        found = exact_json.at(page, ("result", member))
        entries += found if isinstance(found, list) else []
        cursor = exact_json.at(page, ("result", "nextCursor"))
        if not isinstance(cursor, str) or cursor is ABSENT:
            break
        params = {"cursor": cursor}
    return entries


def _compare_arrived(
    bench: RelayBench, comparison: Comparison, mark: int, what: tuple[str, str, str], given: Any
) -> None:
    """Compare a member of the params of a request with that which arrived at the upstream.

    `what` is the method, the member, and the clause that a difference breaks.
    A relay that answers by itself is not judged by it; an empty object may be absent.
    """
    method, member, clause = what
    for arrival in bench.through.server.journal.since(mark, method):
        arrived = exact_json.at(exact_json.read(arrival.raw), ("params", member))
        if given or arrived is not ABSENT:
            allowed = exact_json.read(dumps(given))
            record(comparison, f"{method}: {member} at the upstream", allowed, arrived, (clause,))


def _decoded(contents: Any) -> Any:
    """Return contents with each `blob` as the hexadecimal digits of its bytes."""
    if not isinstance(contents, list):
        return contents
    return [
        Pairs((name, _hex(value) if name == "blob" else value) for name, value in each)
        if isinstance(each, Pairs)
        else each
        for each in contents
    ]


def _hex(text: Any) -> Any:
    """Return base64 as hexadecimal digits; the text itself if it is not base64."""
    try:
        return base64.b64decode(text, validate=True).hex()
    except (TypeError, ValueError, binascii.Error):
        return text
