"""Test for a clean answer to a hostile request: in time, readable, without a stack trace."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.verdict.comparison import note_exchange
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import HttpResponse
from mcp_proxy_conformance.wire.transcript import last_exchange

CONNECTION = "connection"
SHOWN = 160
REFUSED, BROKEN = 400, 500
MOST_SILENT = 2
TRACE = re.compile(
    r"Traceback \(most recent call last\)"
    r"|\n\s+at [\w.$<>\[\] ]+ ?\([^)\n]*:\d+(:\d+)?\)"
    r"|\n\s+at [\w.$]+\([\w.]+\.(java|kt|scala):\d+\)"
    r"|goroutine \d+ \["
    r"|\n\t[^\n]+\.go:\d+ \+0x"
    r"|thread '[^'\n]*' (\(\d+\) )?panicked at"
    r"|\n\s+File \"[^\"\n]+\", line \d+, in "
    r"|\n#\d+ [^\n]*\.php\(\d+\): "
)
"""Stack traces of Python, JavaScript, Java, Go, Rust and PHP."""


def uncleanly(
    bench: Bench, asks: Mapping[str, Callable[[], object]], works: Callable[[], bool]
) -> dict[tuple[str, str], str]:
    """Send each hostile request in turn; return {(its name, place of the fault): text}.

    Empty if all answers are clean, as refusals by HTTP are. Places are the answer, the
    connection, a stack trace, and the next ordinary call, which `works` makes. After two
    requests without an answer no more are sent.
    """
    faults: dict[tuple[str, str], str] = {}
    silent = 0
    for name, ask in asks.items():
        since = bench.started.transcript.mark()
        place, text = _fault_of(ask)
        exchange = last_exchange(bench.started.transcript.since(since), {"client"})
        note_exchange(exchange, [("ask", name)])
        silent += place == CONNECTION
        if not place and (trace := _trace(bench, since)):
            place, text = "stack trace", trace
        if not place and not _still(bench, works):
            place, text = "next call", "fails"
        if place:
            faults[name, place] = text
        if silent >= MOST_SILENT:
            break
    return faults


def finds(bench: Bench, key: ToolKey, query: str) -> bool:
    """Whether an ordinary discovery call, without the flag, lists that tool as callable."""
    return key in bench.widest(query).callables()


def readable(answer: HttpResponse) -> str:
    """Return the fault of an HTTP answer to a possibly invalid body; empty if it has none.

    Faults are a status of 500 or more without a JSON-RPC error, and a body (or event) that is
    not JSON, except of a status 400 to 499 and an empty body.
    """
    if answer.status in range(REFUSED, BROKEN) or not answer.body:
        return "" if answer.status < BROKEN else f"HTTP {answer.status}"
    texts = [event.data for event in answer.events] or [answer.body]
    try:
        documents = [json.loads(text) for text in texts if text]
    except (ValueError, RecursionError):
        text = answer.body[:SHOWN].decode("utf-8", "replace")
        return f"HTTP {answer.status} with a body that is not JSON: {text}"
    refused = all("error" in message for message in _messages(documents))
    return "" if answer.status < BROKEN or (documents and refused) else f"HTTP {answer.status}"


def _messages(documents: list[Any]) -> list[dict[str, Any]]:
    """Return the messages in JSON documents, with lists flattened; a non-object becomes {}."""
    flat = [
        inner
        for document in documents
        for inner in (document if isinstance(document, list) else [document])
    ]
    return [message if isinstance(message, dict) else {} for message in flat]


def _fault_of(ask: Callable[[], object]) -> tuple[str, str]:
    """Make the request; return (place, text) of a fault, ("", "") if the answer is clean.

    A refusal with an HTTP status of 400 to 499 is clean; a text that `ask` returns is a fault.
    """
    try:
        result = ask()
    except Misshapen as fault:
        return "answer", str(fault)[:SHOWN]
    except Unreachable as fault:
        return CONNECTION, fault.reason
    except ProtocolFault as fault:
        is_refusal = fault.status is not None and REFUSED <= fault.status < BROKEN
        excerpt = fault.excerpt.decode("utf-8", "replace")
        text = ": ".join(filter(None, (fault.seen, excerpt)))
        return ("", "") if is_refusal else ("answer", text[:SHOWN])
    return ("answer", result) if isinstance(result, str) and result else ("", "")


def _trace(bench: Bench, since: int) -> str:
    """Return the start of the first stack trace that the target sent since that mark; else ""."""
    messages = bench.started.transcript.since(since)
    received = [
        message.raw
        for message in messages
        if (message.edge, message.direction) == ("client", "received")
    ]
    return next(filter(None, map(_trace_in, received)), "")


def _trace_in(raw: bytes) -> str:
    """Return the start of the first stack trace in a message, plain or escaped; else ""."""
    text = raw.decode("utf-8", "replace")
    unescaped = text.replace("\\n", "\n").replace("\\t", "\t")
    trace = TRACE.search(text) or TRACE.search(unescaped)
    return trace.group().strip()[:SHOWN] if trace else ""


def _still(bench: Bench, works: Callable[[], bool]) -> bool:
    """Whether `works()` is true in this session or, after dropping it, in a new one.

    A fault that it raises counts as false.
    """
    for _ in range(2):
        try:
            if works():
                return True
        except (Misshapen, ProtocolFault, Unreachable):
            pass
        bench.started.forget_clients()
    return False
