"""Comparisons of a relay's capabilities, resources, prompts, completions, ping, instructions."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench, record, repeated
from mcp_proxy_conformance.fidelity.exact_json import ABSENT, Pairs
from mcp_proxy_conformance.fidelity.offers import (
    ARGUMENTS,
    COMPLETIONS,
    INSTRUCTIONS,
    MISSING,
    READS,
    is_offered,
)
from mcp_proxy_conformance.fidelity.side import Outcome, Side
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable, control
from mcp_proxy_conformance.wire.jsonrpc import dumps, object_of

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


@dataclass(frozen=True, slots=True)
class Request:
    """A kind of request: its method, the part of its result that is compared, and their clause."""

    method: str
    part: str
    clause: str


GET = Request("prompts/get", "messages", clause=PROMPTS)
COMPLETE = Request("completion/complete", "completion", clause=COMPLETED)


def capabilities(side: Side) -> Mapping[str, Any]:
    """Return what a way declares in the handshake of the client that checks share, or {}."""
    opening = side.main.open().opening
    return {} if opening is None else object_of(opening.value().get("capabilities"))


def needs_capability(bench: RelayBench, name: str, member: str = "") -> None:
    """Raise NotApplicable unless the relay declares that capability, and that member of it."""
    declared = capabilities(bench.through).get(name)
    whole = f"{name}.{member}" if member else name
    if declared is None or (member and not (isinstance(declared, dict) and declared.get(member))):
        raise NotApplicable(f"{whole} is not declared", cause="not_declared")


def asking(method: str, params: Mapping[str, Any]) -> Callable[[Side], Outcome]:
    """Return a function that sends that request on a way and returns the outcome."""
    return lambda side: side.asked(method, dumps(params))


def declared_answers(bench: RelayBench) -> Comparison:
    """Ask for every feature; what is answered with a result has to be declared.

    Raises Inconclusive if one gets no answer on the direct way.
    """
    comparison = Comparison()
    declared = capabilities(bench.through)
    params: Mapping[str, Mapping[str, Any]] = {
        "completion/complete": COMPLETIONS[0][0],
        "logging/setLevel": {"level": "error"},
    }
    for method, capability in ANSWERED_BY.items():
        own, shown = bench.both(asking(method, params.get(method, {})))
        control(own.kind != "none", f"the direct way does not answer {method}")
        observed = "answered, not declared" if shown.kind == "result" else "not answered"
        comparison.one_of(
            f"{method}: {capability}", "declared" if capability in declared else observed,
            ["declared", "not answered"], breaks=[DECLARED],
        )  # fmt: skip
    return comparison


def lacking(bench: RelayBench) -> Comparison:
    """Record the features that the relay declares and the upstream lacks, which it must not.

    The subscription to resources counts as one where the upstream has resources.
    """
    comparison = Comparison()
    own, shown = capabilities(bench.direct), capabilities(bench.through)
    names = {*ANSWERED_BY.values(), "tasks"}
    if shown.get("experimental"):  # an empty object offers nothing
        names.add("experimental")
    extra = sorted(name for name in names if name in shown and name not in own)
    comparison.one_of("capabilities that the upstream lacks", extra, [[]], breaks=[LACKING])
    if is_offered(shown, "resources", "subscribe") and "resources" in own:
        holds = own["resources"].get("subscribe") is True
        comparison.truth(
            "resources.subscribe", "declared", holds=holds, allowed="absent", breaks=[LACKING]
        )
    return comparison


def resource_lists(bench: RelayBench) -> Comparison:
    """Compare all pages of resources and templates, each entry by its URI.

    Raises NotApplicable if the relay does not declare resources.
    """
    needs_capability(bench, "resources")
    comparison = Comparison()
    _compare_lists(bench, comparison, "resources/list", ("resources", "uri"), clause=LISTED)
    names = ("resourceTemplates", "uriTemplate")
    _compare_lists(bench, comparison, "resources/templates/list", names, clause=LISTED)
    return comparison


def resource_reads(bench: RelayBench) -> Comparison:
    """Read every resource, and one that does not exist, and compare the outcomes.

    Raises NotApplicable if the relay does not declare resources, Inconclusive if the direct way
    does not read one.
    """
    needs_capability(bench, "resources")
    comparison = Comparison()
    for uri in READS:
        own, shown = bench.both(asking("resources/read", {"uri": uri}))
        control(own.kind == "result", f"the direct way does not read {uri}")
        path = ("result", "contents")
        allowed = _decoded(exact_json.at(own.document, path))
        observed = _decoded(exact_json.at(shown.document, path))
        record(comparison, f"contents of {uri}", allowed, observed, clauses=(READ,), additions=True)
    missing = bench.through.asked("resources/read", dumps({"uri": MISSING}))
    _expect_error(comparison, "reading a resource that does not exist", missing, clause=READ)
    return comparison


def prompts(bench: RelayBench) -> Comparison:
    """Compare the listed prompts, each prompt with its arguments, and one that does not exist.

    Raises NotApplicable if the relay does not declare prompts.
    """
    needs_capability(bench, "prompts")
    comparison = Comparison()
    _compare_lists(bench, comparison, "prompts/list", ("prompts", "name"), clause=PROMPTS)
    for name, given in ARGUMENTS.items():
        params = {"name": name, "arguments": given}
        _compare_request(
            bench, comparison, GET, f"messages of {name}", params, members=["arguments"]
        )
    missing = bench.through.asked("prompts/get", dumps({"name": "no such prompt"}))
    _expect_error(comparison, "a prompt that does not exist", missing, clause=PROMPTS)
    return comparison


def completions(bench: RelayBench) -> Comparison:
    """Complete arguments of a prompt and a template; compare completions, and params upstream.

    Raises NotApplicable if the relay does not declare completions.
    """
    needs_capability(bench, "completions")
    comparison = Comparison()
    for params, _ in COMPLETIONS:
        place = f"completion of {params['argument']['name']}"
        _compare_request(bench, comparison, COMPLETE, place, params, members=params)
    return comparison


def pinged(bench: RelayBench) -> Comparison:
    """Ping the relay: an empty result comes back, which may have `_meta`."""
    comparison = Comparison()
    shown = bench.through.asked("ping")
    comparison.truth(
        "answer to a ping", exact_json.plain(shown.document), holds=is_empty(shown.document),
        allowed="an empty result", breaks=[PING],
    )  # fmt: skip
    return comparison


def is_empty(answer: Any) -> bool:
    """Whether an answer, exactly, is an empty result, which may have `_meta`."""
    result = exact_json.at(answer, ("result",))
    return isinstance(result, Pairs) and {*result.last()} <= {"_meta"}


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
    bench: RelayBench, comparison: Comparison, method: str, names: tuple[str, str], *, clause: str
) -> None:
    """Compare the entries of all pages of a list, in any order; further members are right.

    `names` are the result's member that has the entries, and the key of an entry. Raises
    Inconclusive if the direct way lists nothing.
    """
    member, key = names
    own, shown = bench.both(lambda side: _entries(side, method, member))
    control(own, f"the direct way lists nothing at {method}")
    keys = [str(exact_json.at(entry, (key,))) for entry in shown]
    comparison.one_of(f"{method}: listed more than once", repeated(keys), [[]], breaks=[clause])
    extra = sorted({*keys} - {str(exact_json.at(entry, (key,))) for entry in own})
    comparison.one_of(f"{method}: not the upstream's", extra, [[]], breaks=[clause])
    by_key = dict(zip(keys, shown, strict=True))
    for entry in own:
        name = str(exact_json.at(entry, (key,)))
        place = f"{method}: {name}"
        record(
            comparison, place, entry, by_key.get(name, ABSENT), clauses=(clause,), additions=True
        )


def _entries(side: Side, method: str, member: str) -> list[Any]:
    """Return the entries of a list's pages, 20 at most; those before a refusal, [] for none."""
    entries: list[Any] = []
    params: dict[str, Any] = {}
    for _ in range(MOST_PAGES):
        page = side.asked(method, dumps(params)).document
        found = exact_json.at(page, ("result", member))
        entries += found if isinstance(found, list) else []
        cursor = exact_json.at(page, ("result", "nextCursor"))
        if not isinstance(cursor, str) or cursor is ABSENT:
            break
        params = {"cursor": cursor}
    return entries


def _compare_request(
    bench: RelayBench, comparison: Comparison, kind: Request, place: str,
    params: Mapping[str, Any], *, members: Iterable[str],
) -> None:  # fmt: skip
    """Send a request on both ways; compare a part of the result, and of the params upstream.

    The parts are `kind.part` of the result, and `members` of the params of each request that
    reaches the upstream, if any does; an empty one may be absent there.
    """
    mark = bench.through.server.journal.mark()
    allowed, observed = (
        exact_json.at(shown.document, ("result", kind.part))
        for shown in bench.both(asking(kind.method, params))
    )
    record(comparison, place, allowed, observed, clauses=(kind.clause,), additions=True)
    arrivals = bench.through.server.journal.since(mark, kind.method)
    for member, arrival in product(members, arrivals):
        arrived = exact_json.sent(arrival.raw, "params", member)
        if params[member] or arrived is not ABSENT:
            given = exact_json.read(dumps(params[member]))
            path = f"{kind.method}: {member} at the upstream"
            record(comparison, path, given, arrived, clauses=(kind.clause,))


def _expect_error(comparison: Comparison, place: str, shown: Outcome, *, clause: str) -> None:
    comparison.truth(
        place, shown.kind, holds=shown.kind == "error", allowed="an error", breaks=[clause]
    )


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
    try:
        return base64.b64decode(text, validate=True).hex()
    except (TypeError, ValueError, binascii.Error):
        return text
