"""Test for a clean answer: an answer or an error, in time, readable, without stack traces."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import Answer

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
) -> dict[str, str]:
    """Run each ask in turn, and return by name the fault of each answer that is not clean.

    An ask that raises a protocol fault is clean when HTTP refused it. `works` must hold after
    each; a target that keeps silent is not asked further.
    """
    faults: dict[str, str] = {}
    silent = 0
    for name, ask in asks.items():
        since = bench.started.transcript.mark()
        fault = _fault_of(ask)
        silent += fault.startswith("no answer")
        if not fault and _traced(bench, since):
            fault = "a stack trace is told"
        if not fault and not _still(bench, works):
            fault = "the call after it fails"
        if fault:
            faults[name] = fault
        if silent >= MOST_SILENT:
            break
    return faults


def finds(bench: Bench, key: ToolKey, query: str) -> bool:
    """Whether an ordinary discovery call lists that callable tool."""
    return key in bench.discover(query).callables()


def readable(answer: Answer) -> str:
    """Return the fault of the answer to a possibly invalid request body; empty if it has none."""
    if answer.status in range(REFUSED, BROKEN) or not answer.body:
        return "" if answer.status < BROKEN else f"HTTP {answer.status}"
    texts = [event.data for event in answer.events] or [answer.body]
    try:
        documents = [json.loads(text) for text in texts if text]
    except (ValueError, RecursionError):
        return f"HTTP {answer.status} with what is no JSON: {answer.body[:SHOWN]!r}"
    refused = all("error" in message for message in _messages(documents))
    return "" if answer.status < BROKEN or (documents and refused) else f"HTTP {answer.status}"


def _messages(documents: list[Any]) -> list[dict[str, Any]]:
    flat = [
        inner
        for document in documents
        for inner in (document if isinstance(document, list) else [document])
    ]
    return [message if isinstance(message, dict) else {} for message in flat]


def _fault_of(ask: Callable[[], object]) -> str:
    try:
        result = ask()
    except Misshapen as fault:
        return f"it is answered with what cannot be read: {fault!s:.{SHOWN}}"
    except Unreachable as fault:
        return f"no answer: {fault.reason}"
    except ProtocolFault as fault:
        is_refusal = fault.status is not None and REFUSED <= fault.status < BROKEN
        return "" if is_refusal else str(fault)[:SHOWN]
    return result if isinstance(result, str) else ""


def _traced(bench: Bench, since: int) -> bool:
    messages = bench.started.transcript.since(since)
    received = [
        message.raw
        for message in messages
        if (message.edge, message.direction) == ("client", "received")
    ]
    return any(map(_has_trace, received))


def _has_trace(raw: bytes) -> bool:
    text = raw.decode("utf-8", "replace")
    return bool(TRACE.search(text) or TRACE.search(text.replace("\\n", "\n").replace("\\t", "\t")))


def _still(bench: Bench, works: Callable[[], bool]) -> bool:
    """Whether the target works, if not in this session then in a new one."""
    for _ in range(2):
        try:
            if works():
                return True
        except (Misshapen, ProtocolFault, Unreachable):
            pass
        bench.started.forget_clients()
    return False
