"""Comparisons of a relay's requests upstream in each protocol era: order, `_meta`, headers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import DATA, LATER, TELLING
from mcp_proxy_conformance.fidelity.requests import TRACE
from mcp_proxy_conformance.fidelity.stages import MARKED, WRONGLY_MARKED
from mcp_proxy_conformance.fidelity.stateless_client import meta
from mcp_proxy_conformance.fidelity.way_back import CANCELLATION, connected
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.journal import Arrival
from mcp_proxy_conformance.upstream.relayed_stateless import CLOSED
from mcp_proxy_conformance.upstream.stateless_rules import (
    PARAM,
    at_path,
    claims,
    marks_of,
    meta_fault,
    misfits,
)
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import applies, control
from mcp_proxy_conformance.wire.client import Wire
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.jsonrpc import dumps
from mcp_proxy_conformance.wire.revisions import LATEST_STATELESS, META_VERSION, header_value

HANDSHAKE, HOP, TRACED = "RLY.era.tools.handshake", "RLY.era.meta.hop", "RLY.era.meta.trace"
FITTING, MIRRORED = "RLY.era.headers.recomputed", "RLY.era.headers.param"
FORWARDED, REJECTED = "RLY.era.headers.forwarded", "RLY.era.headers.rejected"
EMPTY_CURSOR, FETCHED = "RLY.tools.paging.empty-cursor", "RLY.tools.schema.no-fetch"
FORM = "RLY.back.cancel.form"
INITIALIZED = "notifications/initialized"
UNKNOWN_PARAM, UNKNOWN_VALUE = "Mcp-Param-Unknown", "a value, 1=2"
TRACES: Sequence[Mapping[str, str]] = (
    {"traceparent": TRACE, "tracestate": "vendor=a:1,other@x=b", "baggage": "user=u%20v;p=1,k=v"},
    {},
)
"""Trace contexts that clients send: one, and none."""
_BAGGAGE = (
    r"[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*=[ \t]*[!#-+\--:<-\[\]-~]*"
    r"(?:[ \t]*;[ \t]*[^,;]+)*[ \t]*"
)
_STATE = r"[ \t]*(?:[a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{1,256})?[ \t]*"
TRACE_FORMS: Mapping[str, re.Pattern[str]] = {
    "traceparent": re.compile(
        r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
    ),
    "tracestate": re.compile(f"{_STATE}(?:,{_STATE})*"),
    "baggage": re.compile(f"{_BAGGAGE}(?:,{_BAGGAGE})*"),
}
"""Forms of W3C's recommendations."""
ARGUMENTS: Sequence[Mapping[str, Any]] = (
    {"region": "us-west1", "count": 42, "sure": False, "query": "SELECT 1"},
    {"region": " padded “ü”\n", "count": -7, "sure": True, "place": {"city": "=?base64?QQ==?="}},
    {"region": None, "place": {}, "query": "region"},
    {},
)
"""Arguments of the tool `marked`: plain ones, such as need encoding, null, and none."""
ARRIVES_S = 3.0


def handshakes(bench: RelayBench) -> Comparison:
    """List as new clients of each era; every session of the upstream has begun by a handshake.

    Everything that the upstream has got since its start is looked at, except for requests of
    2026-07-28, by which a relay finds out its era. Raises Inconclusive if it has got no handshake.
    """
    comparison = Comparison()
    for wire in bench.served():
        bench.through.client(wire=wire).request("tools/list")
    early: list[str] = []
    began: dict[str, str] = {}
    for each in bench.through.server.journal.since():
        if not each.method or claims(each.headers, each.message):
            continue
        is_sent = _is_posted(each) and "method" in each.message
        if is_sent and each.method != "server/discover" and not _is_in_order(each, began):
            early.append(each.method)
    control(began, "the upstream has got no handshake")
    comparison.one_of("requests before the handshake", early, [[]], breaks=[HANDSHAKE])
    return comparison


def _is_posted(each: Arrival) -> bool:
    """Whether an arrival is a message: the body of a POST, or a line over stdio."""
    return each.line.startswith("POST") or not each.line


def _is_in_order(each: Arrival, began: dict[str, str]) -> bool:
    """Return whether a request or notification comes in the order that a handshake demands.

    `initialize` comes first, over HTTP before there is a session; then `initialized`, then any
    other. A ping may come any time after `initialize`. `began` maps each session to the step of
    its handshake that has come; it is updated.
    """
    if each.method == "initialize":
        is_first = began.get(each.session) is None
        began[each.session] = began.get(each.session, each.method)
        return is_first or not each.session
    opened = "" if each.line else each.session
    if began.get(opened) is None or (each.line and not each.session):
        return False
    if each.method == INITIALIZED:
        began[each.session] = INITIALIZED
    return each.method == "ping" or began.get(each.session) == INITIALIZED


def stated(bench: RelayBench) -> Comparison:
    """List and call as clients of each era; each request upstream states version and capabilities.

    Over HTTP its header states the same version. Raises Inconclusive if a client is not listed the
    tool `echo`.
    """
    comparison = Comparison()
    for wire in bench.served():
        bench.needs_tool("echo", wire)
        arrived = _arrived(bench, partial(_listed_and_called, bench, wire))
        wrong = [f"{each.method}: {fault}" for each in arrived if (fault := _unstated(each))]
        comparison.one_of(f"requests for a {wire} client", wrong, [[]], breaks=[HOP])
    return comparison


def traces(bench: RelayBench) -> Comparison:
    """Call with trace context and without, as clients of each era; what arrives has W3C's form.

    Raises NotApplicable if none arrives.
    """
    comparison = Comparison()
    arrives = False
    for wire in bench.served():
        bench.needs_tool("echo", wire)
        for given in TRACES:
            arrived = _arrived(bench, partial(_called, bench, wire, "echo", {}, given))
            traced = [
                (name, context[name])
                for context in [each.meta() for each in arrived]
                for name in TRACE_FORMS
                if name in context
            ]
            arrives = arrives or bool(traced)
            wrong = {
                name: value for name, value in traced if not TRACE_FORMS[name].fullmatch(str(value))
            }
            sender = f"a {wire} client that sends {', '.join(given) or 'none'}"
            comparison.one_of(
                f"malformed trace context, for {sender}", wrong, [{}], breaks=[TRACED]
            )
    applies(arrives, "no trace context arrives, which may be left out")
    return comparison


def fitting_headers(bench: RelayBench) -> Comparison:
    """List, call, read and get prompts as clients of each era; headers upstream fit the bodies.

    Raises NotApplicable unless the upstream is reached over HTTP.
    """
    comparison = Comparison()
    for wire in bench.served():
        bench.needs_http()
        bench.needs_tool("echo", wire)
        wrong = {
            f"{each.method}: {text}"
            for each in _arrived(bench, partial(_used, bench, wire))
            if claims(each.headers, each.message)
            for text in misfits(each.headers, each.message, {})
        }
        comparison.one_of(f"for a {wire} client", sorted(wrong), [[]], breaks=[FITTING])
    return comparison


def mirrored_arguments(bench: RelayBench) -> Comparison:
    """Call a tool with marked arguments as clients of each era; the upstream gets their headers.

    Tried are plain values, values that need encoding, null, and no arguments; an argument without a
    mark may have no header. Raises NotApplicable unless the upstream is reached over HTTP.
    """
    comparison = Comparison()
    marks = marks_of({"inputSchema": MARKED})
    for wire in bench.served():
        bench.needs_http()
        bench.needs_tool("marked", wire)
        for arguments in ARGUMENTS:
            act = partial(_called, bench, wire, "marked", arguments)
            call = _arrived(bench, act, "tools/call")[-1]
            known = {PARAM + mark.lower() for mark in marks}
            wrong = [
                text for text in misfits(call.headers, call.message, marks)
                if text.startswith(PARAM)
            ]  # fmt: skip
            names = {name.lower() for name, _ in call.headers}
            wrong += sorted(name for name in names - known if name.startswith(PARAM))
            comparison.one_of(
                f"{dumps(arguments).decode()}, for a {wire} client", wrong, [[]], breaks=[MIRRORED]
            )  # fmt: skip
    return comparison


def forwarded_header(bench: RelayBench) -> Comparison:
    """Send a header for an argument that no tool explains; the upstream gets it.

    Raises NotApplicable unless both connections are of 2026-07-28 and over HTTP.
    """
    comparison = Comparison()
    bench.served("stateless")
    bench.needs_http()
    bench.needs_tool("echo", "stateless")

    def act() -> None:
        with closing(bench.relay.stateless(bench.through)) as client:
            params = {"name": bench.through.name_of("echo"), "arguments": {}}
            client.ask("tools/call", params, headers={UNKNOWN_PARAM: UNKNOWN_VALUE})

    call = _arrived(bench, act, "tools/call")[-1]
    applies(claims(call.headers, call.message), "the upstream is asked in another era")
    found = [value for name, value in call.headers if name.lower() == UNKNOWN_PARAM.lower()]
    comparison.one_of(UNKNOWN_PARAM, found, [[UNKNOWN_VALUE]], breaks=[FORWARDED])
    return comparison


def rejected_tools(bench: RelayBench) -> Comparison:
    """List tools of which some have marks that break the rules; these are left out.

    Raises NotApplicable unless the upstream is reached over HTTP, Inconclusive if a tool without
    marks is not listed.
    """
    comparison = Comparison()
    for wire in bench.served():
        bench.needs_http()
        names = bench.through.list_anew(bench.through.main_of(wire)).names
        control(bench.through.name_of("page_1") in names, "a tool without marks is not listed")
        listed = sorted({*map(bench.through.bare, names)} & {*WRONGLY_MARKED})
        comparison.one_of(f"tools for a {wire} client", listed, [[]], breaks=[REJECTED])
    return comparison


def empty_cursor(bench: RelayBench) -> Comparison:
    """List as clients of each era; the tools of the page that has an empty cursor are listed.

    Raises Inconclusive if not even the first page's are, or the direct way does not show them.
    """
    comparison = Comparison()
    control(
        "page_2" in bench.direct.listing().names,
        "the direct way does not show the page of the empty cursor",
    )
    for wire in bench.served():
        try:
            names = bench.through.list_anew(bench.through.main_of(wire)).names
        except ProtocolFault as fault:
            names = (str(fault),)
        else:
            control(
                bench.through.name_of("page_1") in names,
                "the tools of the first page are not listed",
            )
        comparison.truth(
            f"tools for a {wire} client", list(names),
            holds=bench.through.name_of("page_2") in names,
            allowed="those of the page that has an empty cursor too", breaks=[EMPTY_CURSOR],
        )  # fmt: skip
    return comparison


def fetched_schemas(bench: RelayBench) -> Comparison:
    """List and call a tool whose schema refers to a URL of the upstream's host; it is not fetched.

    Raises Inconclusive if no call of `page_1`, another tool, reaches the upstream.
    """
    comparison = Comparison()
    for wire in bench.served():
        bench.through.list_anew(bench.through.main_of(wire))
        _called(bench, wire, "pointing", {"note": "x"})
        _called(bench, wire, "page_1", {})
    journal = bench.through.server.journal
    control(journal.calls(0, "page_1"), "no call reached the upstream")
    fetched = sorted({each.line for each in journal.since() if " /schema/" in each.line})
    comparison.one_of("requests of schemas", fetched, [[]], breaks=[FETCHED])
    return comparison


def cancellation_form(bench: RelayBench) -> Comparison:
    """Cancel a call as clients of each era; an upstream over HTTP sees its stream closed.

    A notification, which is the form of stdio, does not do instead. Raises NotApplicable if no
    cancellation reaches the upstream.
    """
    comparison = Comparison()
    for wire in bench.served():
        bench.needs_http()
        bench.needs_tool(TELLING, wire)
        journal = bench.through.server.journal
        mark = journal.mark()
        _cancelled(bench, wire)
        told, closed = (bool(journal.since(mark, each)) for each in (CANCELLATION, CLOSED))
        if told or closed:
            comparison.truth(
                f"a cancellation for a {wire} client",
                "a closed stream" if closed else "a notification", holds=closed,
                allowed="a closed stream", breaks=[FORM],
            )  # fmt: skip
    return comparison.or_not_applicable("no cancellation reaches the upstream")


def _cancelled(bench: RelayBench, wire: Wire) -> None:
    """Begin a slow call, cancel it as that era does, and wait until the upstream sees it closed.

    A stateless client closes its connection, one of the handshake era sends a notification. The
    waits, for the call and for its end upstream, take three seconds each at most.
    """
    journal, side = bench.through.server.journal, bench.through
    mark = journal.mark()
    params = {"name": side.name_of(TELLING), "arguments": {"case": "slow"}}
    with ExitStack() as stack:
        if wire == "stateless":
            client = stack.enter_context(closing(bench.relay.stateless(side)))
            exchange = client.begin("tools/call", params)
            poll(lambda: journal.calls(mark), bool, ARRIVES_S)
            exchange.cut()
        else:
            crew = stack.enter_context(ThreadPoolExecutor(1))
            listening = stack.enter_context(closing(connected(bench, side)))
            crew.submit(listening.request, "tools/call", params, "slow call")
            poll(lambda: journal.calls(mark), bool, ARRIVES_S)
            listening.notify(CANCELLATION, {"requestId": "slow call"})
        poll(lambda: journal.since(mark, CLOSED), bool, ARRIVES_S)


def _listed_and_called(bench: RelayBench, wire: Wire) -> None:
    bench.through.main_of(wire).request("tools/list")
    _called(bench, wire, "echo", {})


def _used(bench: RelayBench, wire: Wire) -> None:
    _listed_and_called(bench, wire)
    client = bench.through.main_of(wire)
    for uri in (DATA, LATER):
        client.request("resources/read", {"uri": uri})
    client.request("prompts/get", {"name": "plain"})


def _called(
    bench: RelayBench, wire: Wire, tool: str, arguments: Mapping[str, Any],
    given: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Call a tool as a client of an era; `given` are members of the call's `_meta`.

    A stateless client of the tool `marked` repeats its marked arguments in headers.
    """
    side = bench.through
    params: dict[str, Any] = {"name": side.name_of(tool), "arguments": arguments}
    if wire == "handshake":
        members = {"_meta": given} if given else {}
        side.asked("tools/call", dumps(params | members), client=side.main_of(wire))
        return
    headers = {
        f"Mcp-Param-{mark}": header_value(value if isinstance(value, str) else json.dumps(value))
        for mark, path in marks_of({"inputSchema": MARKED}).items()
        if tool == "marked" and (value := at_path(arguments, path)) is not None
    }
    with closing(bench.relay.stateless(side)) as client:
        client.ask("tools/call", params, own_meta=meta() | dict(given or {}), headers=headers)


def _arrived(
    bench: RelayBench, act: Callable[[], None], method: str | None = None
) -> Sequence[Arrival]:
    """Return the requests, of one method or of all, that reach the upstream while `act` is done.

    Requests that the upstream refuses are among them, `initialize` is not. Raises Inconclusive if
    no tools/call is among them.
    """
    mark = bench.through.server.journal.mark()
    act()
    arrived = [
        each
        for each in bench.through.server.journal.since(mark, method)
        if each.method not in ("initialize", CLOSED) and _is_posted(each) and b'"id"' in each.raw
    ]
    control(
        any(each.method == "tools/call" for each in arrived), "the call did not reach the upstream"
    )
    return arrived


def _unstated(each: Arrival) -> str:
    """Return what is wrong with a request's `_meta`, or its HTTP version header; "" if nothing."""
    if (fault := meta_fault(each.message)) is not None:
        return fault.message
    versions = [value for name, value in each.headers if name.lower() == "mcp-protocol-version"]
    if each.line and versions != [each.meta()[META_VERSION]]:
        return f"the header states {', '.join(versions) or 'nothing'}, not {LATEST_STATELESS}"
    return ""
