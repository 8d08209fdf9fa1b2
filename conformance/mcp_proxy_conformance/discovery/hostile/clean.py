"""What is clean: an answer or an error, in time, readable, without the target's insides."""

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
    """Of those that are asked one after the other, what is wrong with the answers to some.

    An ask that raises a fault of the protocol is clean when it was refused by HTTP. After each,
    `works` must hold; a target that keeps silent is not asked for ever.
    """
    found: dict[str, str] = {}
    silent = 0
    for name, ask in asks.items():
        since = bench.started.transcript.mark()
        told = _told(ask)
        silent += told.startswith("no answer")
        if not told and _traced(bench, since):
            told = "a stack trace is told"
        if not told and not _still(bench, works):
            told = "the call after it fails"
        if told:
            found[name] = told
        if silent >= MOST_SILENT:
            break
    return found


def finds(bench: Bench, key: ToolKey, query: str) -> bool:
    """Whether an ordinary call lists that callable tool."""
    return key in bench.discover(query).callables()


def readable(answer: Answer) -> str:
    """What is wrong with the answer to a body that may be no request; empty if nothing is."""
    if answer.status in range(REFUSED, BROKEN) or not answer.body:
        return "" if answer.status < BROKEN else f"HTTP {answer.status}"
    texts = [event.data for event in answer.events] or [answer.body]
    try:
        told = [json.loads(text) for text in texts if text]
    except (ValueError, RecursionError):
        return f"HTTP {answer.status} with what is no JSON: {answer.body[:SHOWN]!r}"
    refused = all("error" in one for one in _messages(told))
    return "" if answer.status < BROKEN or (told and refused) else f"HTTP {answer.status}"


def _messages(told: list[Any]) -> list[dict[str, Any]]:
    flat = [inner for one in told for inner in (one if isinstance(one, list) else [one])]
    return [one if isinstance(one, dict) else {} for one in flat]


def _told(ask: Callable[[], object]) -> str:
    try:
        told = ask()
    except Misshapen as fault:
        return f"it is answered with what cannot be read: {fault!s:.{SHOWN}}"
    except Unreachable as fault:
        return f"no answer: {fault.reason}"
    except ProtocolFault as fault:
        is_refusal = fault.status is not None and REFUSED <= fault.status < BROKEN
        return "" if is_refusal else str(fault)[:SHOWN]
    return told if isinstance(told, str) else ""


def _traced(bench: Bench, since: int) -> bool:
    seen = bench.started.transcript.since(since)
    told = [one.raw for one in seen if (one.edge, one.direction) == ("client", "received")]
    return any(map(_has_trace, told))


def _has_trace(raw: bytes) -> bool:
    text = raw.decode("utf-8", "replace")
    return bool(TRACE.search(text) or TRACE.search(text.replace("\\n", "\n").replace("\\t", "\t")))


def _still(bench: Bench, works: Callable[[], bool]) -> bool:
    """Whether it works, if not in this session then in a new one."""
    for _ in range(2):
        try:
            if works():
                return True
        except (Misshapen, ProtocolFault, Unreachable):
            pass
        bench.started.forget_clients()
    return False
