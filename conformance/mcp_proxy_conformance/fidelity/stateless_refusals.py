"""Comparisons of faulty requests of MCP 2026-07-28, which a relay refuses: by status and code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import MISSING, NOTE, TELLING
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.fidelity.stateless_client import Exchange, StatelessClient, meta
from mcp_proxy_conformance.upstream.relayed import Answer
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, applies, control
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import STREAM
from mcp_proxy_conformance.wire.jsonrpc import (
    dumps,
    fresh_id,
    list_of,
    message_of,
    object_of,
    request,
)
from mcp_proxy_conformance.wire.revisions import (
    CLIENT_INFO,
    INVALID_PARAMS,
    LATEST_STATELESS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_REVISION,
    header_value,
    stateless_headers,
)

VERSION, STATELESS = "RLY.era.tools.version", "RLY.era.call.stateless"
FORM, RESERVED = "RLY.era.error.form", "RLY.era.error.reserved"
MISMATCH, BEFORE = "RLY.era.headers.mismatch", "RLY.era.headers.before"
NOT_FOUND, NOT_EMPTY = "RLY.features.resources.not-found", "RLY.era.tools.not-empty"
UNKNOWN_VERSIONS = ("1900-01-01", "2199-12-31")
UNKNOWN_METHOD = "example.org/nothing"
HEADER_MISMATCH = -32020
WITHDRAWN = (-32002, -32042)
BELONGS_TO_MCP = range(-32099, -32019)
CODES = (*WITHDRAWN, -32050, HEADER_MISMATCH, UNSUPPORTED_REVISION)
"""Codes of an older upstream's errors that no client of 2026-07-28 may get for a call.

Two are withdrawn, one is reserved without a meaning; the others have one that is not theirs.
"""
VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
MISFITS: Sequence[Mapping[str, str | None]] = (
    {METHOD_HEADER: "tools/list"},
    {METHOD_HEADER: None},
    {METHOD_HEADER: "Tools/Call"},
    {NAME_HEADER: TELLING},
    {NAME_HEADER: None},
    {NAME_HEADER: "ECHO"},
    {NAME_HEADER: "=?base64?dGVsbGluZw==?="},
    {VERSION_HEADER: "2025-11-25"},
)
"""Headers, None without, that do not fit a call of `echo`."""
REFUSED = range(400, 500)
SERVED = range(200, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyRequest:
    """A request that has to be refused: what it is, and the pairs of status and code allowed."""

    text: str
    allowed: Sequence[tuple[int, int]]
    method: str = "tools/list"
    own_meta: Mapping[str, Any] = field(default_factory=meta)
    headers: Mapping[str, str | None] = field(default_factory=dict)


FAULTY_REQUESTS = (
    FaultyRequest(
        text="an unknown method", method=UNKNOWN_METHOD, allowed=[(404, METHOD_NOT_FOUND)]
    ),
    FaultyRequest(
        text="an unknown version", allowed=[(400, UNSUPPORTED_REVISION)],
        own_meta=meta(protocolVersion=UNKNOWN_VERSIONS[0]),
        headers={VERSION_HEADER: UNKNOWN_VERSIONS[0]},
    ),
    FaultyRequest(
        text="no capabilities", allowed=[(400, INVALID_PARAMS)],
        own_meta=meta(clientCapabilities=None),
    ),
    FaultyRequest(
        text="no version in _meta", own_meta=meta(protocolVersion=None),
        allowed=[(400, INVALID_PARAMS), (400, HEADER_MISMATCH)],
    ),
)  # fmt: skip
"""Requests with one fault each; a missing version also is one that its header does not fit."""


@contextmanager
def both(bench: RelayBench) -> Iterator[tuple[StatelessClient, StatelessClient]]:
    """Yield clients of 2026-07-28, directly and through the relay.

    NotApplicable unless the relay serves that revision.
    """
    bench.needs_stateless()
    relay = bench.relay
    with (
        closing(relay.stateless(relay.modern)) as own,
        closing(relay.stateless(bench.through)) as shown,
    ):
        yield own, shown


def not_served(reason: str) -> Inconclusive:
    """Return the exception for a relay that serves clients of 2026-07-28, but not what is asked."""
    return Inconclusive(reason, cause="other_clause", needs=(NOT_EMPTY,))


def versions(bench: RelayBench) -> Comparison:
    """Ask in versions that nobody serves, in both eras; each is refused as that era says.

    Without a handshake it is an error with the versions that are served; a handshake is answered
    with another version, or by an error. Raises Inconclusive if the direct way does not show that.
    """
    comparison = Comparison()
    versions = () if bench.relay.refusal else UNKNOWN_VERSIONS
    for version in versions:
        control(
            _granted(bench, bench.relay.direct_of("handshake"), version) not in (None, version),
            "the direct way does not answer a handshake of an unknown version",
        )
    with ThreadPoolExecutor(len(UNKNOWN_VERSIONS)) as crew:
        given = [*crew.map(partial(_granted, bench, bench.through), versions)]
    for version, granted in zip(versions, given, strict=True):
        if granted is not None:
            comparison.truth(
                f"the version that a handshake for {version} is given", granted,
                holds=granted != version, allowed="another, or an error", breaks=[VERSION],
            )  # fmt: skip
    if bench.through.refusal_of("stateless") is not None:
        return comparison
    with both(bench) as (own, shown):
        for version in UNKNOWN_VERSIONS:
            control(
                _names_versions(_in_version(own, version)),
                "the direct way does not refuse an unknown version",
            )
            exchange = _in_version(shown, version)
            comparison.truth(
                f"a request of {version}", _told(exchange), holds=_names_versions(exchange),
                allowed=f"error {UNSUPPORTED_REVISION}, with the versions that are served",
                breaks=[VERSION],
            )  # fmt: skip
    return comparison


def forms(bench: RelayBench) -> Comparison:
    """Ask with one fault each; status and code are those of its kind.

    In an event stream, whose status is 200, only the code counts. Raises Inconclusive if the direct
    way does not refuse a fault like that.
    """
    comparison = Comparison()
    with both(bench) as (own, shown):
        for fault in FAULTY_REQUESTS:
            control(
                _is_formed(_faulty(own, fault), fault),
                f"the direct way does not refuse {fault.text}",
            )
            exchange = _faulty(shown, fault)
            comparison.truth(
                f"a request with {fault.text}", _told(exchange), breaks=[FORM],
                holds=_is_formed(exchange, fault), described=False,
                allowed=[{"status": status, "code": code} for status, code in fault.allowed],
            )  # fmt: skip
    return comparison


def stateless(bench: RelayBench) -> Comparison:
    """Send faulty `_meta` on connections whose first request has it right; nothing is served.

    The relay may not take what is missing from the first request. Raises Inconclusive if the direct
    way does not refuse such a request, or the first one is refused.
    """
    bench.needs_stateless()
    comparison = Comparison()
    for fault in FAULTY_REQUESTS:
        if fault.method == UNKNOWN_METHOD:
            continue
        own, shown = (_after_another(side, fault) for side in (bench.relay.modern, bench.through))
        control(own in REFUSED, f"the direct way does not refuse {fault.text}")
        comparison.truth(
            f"the status of a request with {fault.text}, after one that states all", shown,
            holds=shown not in SERVED, allowed="not 200", breaks=[STATELESS],
        )  # fmt: skip
    return comparison


def reserved(bench: RelayBench) -> Comparison:
    """Have an older upstream refuse calls with codes that 2026-07-28 withdrew or reserves.

    No such code may arrive at the client, but some answer has to. Raises Inconclusive if the direct
    way does not show a code, or a call that the upstream answers has no result.
    """
    comparison = Comparison()
    with both(bench) as (own, shown):
        if "result" not in _echo(shown, bench.through.name_of("echo"), {}).answer:
            raise not_served("a call that nobody refuses has no result")
        for code in CODES:
            answer = Answer(error=dumps({"code": code, "message": "No.", "data": {"a": 1}}))
            for side in (bench.relay.modern, bench.through):
                side.server.answers[f"code {code}"] = answer
            control(
                _called_with(own, bench.relay.modern, code).code == code,
                f"the direct way does not show the code {code}",
            )
            mark = bench.through.server.journal.mark()
            exchange = _called_with(shown, bench.through, code)
            bench.through.expect_argument(mark, "case", f"code {code}")
            holds = exchange.code not in WITHDRAWN and exchange.code not in BELONGS_TO_MCP
            comparison.truth(
                f"a call that the upstream refuses with {code}", _told(exchange),
                holds=holds and bool(exchange.answer), breaks=[RESERVED],
                allowed="a code that 2026-07-28 has for it",
            )  # fmt: skip
    return comparison


def headers(bench: RelayBench) -> Comparison:
    """Call with one header that does not fit the body; it is refused, and the tool is not run.

    Raises Inconclusive if the direct way does not refuse it, or a fitting call is refused.
    """
    comparison = Comparison()
    name = bench.through.name_of("echo")
    with both(bench) as (own, shown):
        journal = bench.through.server.journal
        right = {NAME_HEADER: header_value(name)}
        if "result" not in _echo(shown, name, right).answer:
            raise not_served("a call whose headers fit is refused, too")
        for misfit in MISFITS:
            place = ", ".join(f"{header}: {value}" for header, value in misfit.items())
            control(
                _echo(own, "echo", misfit).status in REFUSED,
                f"the direct way does not refuse {place}",
            )
            mark = journal.mark()
            exchange = _echo(shown, name, misfit)
            comparison.truth(
                f"a call with {place}", _told(exchange), holds=exchange.status in REFUSED,
                allowed="HTTP 400", breaks=[MISMATCH],
            )  # fmt: skip
            comparison.one_of(
                f"a call with {place}: executions", len(journal.calls(mark)), [0], breaks=[BEFORE]
            )
    return comparison


def not_found(bench: RelayBench) -> Comparison:
    """Read a resource that does not exist; it is an error of invalid params.

    Raises NotApplicable unless resources are declared, Inconclusive if the direct way gives no
    error, or one that exists cannot be read.
    """
    comparison = Comparison()
    with both(bench) as (own, shown):
        applies(
            "resources" in bench.stateless_capabilities,
            "resources are not declared",
            cause="not_declared",
        )
        params = {"uri": MISSING}
        if own.ask("resources/read", params).code is None:
            raise Inconclusive("the direct way does not refuse to read a missing resource")
        if "result" not in shown.ask("resources/read", {"uri": NOTE}).answer:
            raise not_served("a resource that exists cannot be read")
        exchange = shown.ask("resources/read", params)
        comparison.one_of(
            "the code of the error", exchange.code, [INVALID_PARAMS], breaks=[NOT_FOUND]
        )
    return comparison


def _granted(bench: RelayBench, side: Side, version: str) -> Any:
    """Do a handshake for `version`, directly or through the relay; return the version granted.

    `side` is that way. "none" if the result has no version; None for an error or no answer.
    """
    own_id, came = fresh_id(), list[Mapping[str, Any]]()

    def take(raw: bytes, _: int) -> None:
        message = message_of(raw)
        if message.get("id") == own_id:
            came.append(message)

    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": CLIENT_INFO,
    }
    with closing(bench.relay.carrier(side)) as carrier:
        carrier.begin(take)
        carrier.send(request("initialize", dumps(params), own_id), "initialize", lambda: bool(came))
    result = came[0].get("result") if came else None
    return result.get("protocolVersion", "none") if isinstance(result, dict) else None


def _in_version(client: StatelessClient, version: str) -> Exchange:
    stated = meta(protocolVersion=version)
    return client.ask("tools/list", own_meta=stated, headers={VERSION_HEADER: version})


def _names_versions(exchange: Exchange) -> bool:
    """Whether a request is refused for its version, with a list that has 2026-07-28."""
    data = object_of(object_of(exchange.answer.get("error")).get("data"))
    named = LATEST_STATELESS in list_of(data.get("supported"))
    return exchange.code == UNSUPPORTED_REVISION and named


def _faulty(client: StatelessClient, fault: FaultyRequest) -> Exchange:
    return client.ask(fault.method, own_meta=fault.own_meta, headers=fault.headers)


def _is_formed(exchange: Exchange, fault: FaultyRequest) -> bool:
    """Whether a fault is answered by an allowed pair of HTTP status and error code.

    In an event stream, whose status is 200, only the code counts.
    """
    if exchange.response is not None and exchange.response.media_type == STREAM:
        return exchange.code in [code for _, code in fault.allowed]
    return (exchange.status, exchange.code) in fault.allowed


def _after_another(side: Side, fault: FaultyRequest) -> int:
    """List tools, then send a faulty request on the same connection; return its status.

    0 without an answer that HTTP allows. Raises Inconclusive if the list is refused.
    """
    client = side.client(wire="stateless")
    assert isinstance(client, Client)
    try:
        if client.request("tools/list").error is not None:
            raise Inconclusive("a request that states all is refused")
        params = dumps({"_meta": fault.own_meta})
        sent = dict(stateless_headers(fault.method, params))
        sent |= {name: value for name, value in fault.headers.items() if value is not None}
        return client.post(request(fault.method, params, fresh_id()), headers=sent).status
    except (Unreachable, ProtocolFault):
        return 0
    finally:
        client.close()


def _called_with(client: StatelessClient, side: Side, code: int) -> Exchange:
    params = {"name": side.name_of(TELLING), "arguments": {"case": f"code {code}"}}
    return client.ask("tools/call", params)


def _echo(client: StatelessClient, name: str, changed: Mapping[str, str | None]) -> Exchange:
    """Call a tool; `changed` replaces headers that fit the body, or leaves one out if None."""
    return client.ask("tools/call", {"name": name, "arguments": {"a": 1}}, headers=changed)


def _told(exchange: Exchange) -> Mapping[str, Any]:
    """Return the status of a request with its result or error, or why there is none, to report."""
    members = {key: value for key, value in exchange.answer.items() if key in ("result", "error")}
    return {"status": exchange.status, **(members or {"none": exchange.why})}
