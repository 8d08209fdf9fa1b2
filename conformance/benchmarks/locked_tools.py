"""Cost of a discovery request as locked tools grow: on the reference, and in the suite.

`python locked_tools.py 10 100 1000 10000 100000` starts the reference with so many locked tools and
a callable one, then asks for all of them in turn: the standard library's HTTP client, which throws
the answer away, and a check's bench, which reads and keeps it. It prints a line of JSON for each
size: seconds until the target listed the tools, milliseconds of a request as medians, what the
suite adds to it, the size of its answer, and the most memory that this process ever had. It ends
with 1 when a request was not answered with the callable tool and ten locked ones.
"""

from __future__ import annotations

import argparse
import http.client
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from amounts import positive

from mcp_proxy_conformance.catalogue.world import Server, Tool, World
from mcp_proxy_conformance.discovery.arming import Armed
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.description import describe
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.wire.faults import Unreachable

SIZES = (10, 100, 1_000, 10_000, 100_000)
PAGE, ROUNDS, READY_S, CAP = 5_000, 15, 300.0, 10
WORD, REVISION = "zolgat", "2025-11-25"
ASKED = {"query": WORD, "include_disabled": True}


def crowd(count: int) -> World:
    """Return a world of one server: a callable tool, then `count` that the operator denies."""
    locked = tuple(Tool(name=f"delete_{n}", description=f"Delete {WORD}.") for n in range(count))
    free = Tool(name="list", description=f"List {WORD}.")
    deny = tuple(tool.name for tool in locked)
    server = Server(name="crowd", tools=(free, *locked), deny=deny, page_size=PAGE)
    return World(servers=(server,), id=f"crowd-{count}")


class Bare:
    """Minimal MCP client: a handshake, then requests whose answers are discarded."""

    def __init__(self, url: str) -> None:
        """Connect, initialize, and keep the id of the session."""
        place = urlsplit(url)
        self._path = place.path
        self._connection = http.client.HTTPConnection(place.netloc)
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        client = {"name": "bare", "version": "1"}
        params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client}
        session = self._post("initialize", params).getheader("mcp-session-id")
        self._headers |= {"mcp-session-id": session or "", "mcp-protocol-version": REVISION}

    def discover(self) -> None:
        """Send one discovery request with the flag; discard the answer."""
        self._post("tools/call", {"name": "retrieve_tools", "arguments": ASKED})

    def _post(self, method: str, params: Mapping[str, object]) -> http.client.HTTPResponse:
        """Send a JSON-RPC request by POST; return the response, its body read and discarded."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._connection.request("POST", self._path, json.dumps(message), self._headers)
        answer = self._connection.getresponse()
        answer.read()
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def milliseconds(act: Callable[[], object]) -> float:
    """Call `act` and return the milliseconds it took."""
    began = time.perf_counter()
    act()
    return 1e3 * (time.perf_counter() - began)


def peak_mb() -> float:
    """Return the peak memory of this process, in MB of 1024 * 1024 bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / (1 << 20), 1)


def measured(target: ProxyTarget, count: int, scratch: Path) -> dict[str, object]:
    """Start the target with `count` locked tools, measure discovery, and return the figures.

    `right`: within 300 s it answered with the callable tool and all locked ones up to the cap. Both
    clients ask in turn.
    """
    began = time.monotonic()
    started = Started(target, crowd(count), scratch)
    try:
        bench = Bench(started, Armed(states={}))

        def observe() -> tuple[int, int]:
            """Discover; return (callable tools, locked tools) found, (0, 0) without an answer."""
            try:
                answer = bench.discover(WORD, include_disabled=True)
            except Unreachable:
                return 0, 0  # still busy with its tools
            return len(answer.tools), len(answer.statuses())

        whole = (1, min(CAP, count))
        right = poll(observe, lambda sizes: sizes == whole, READY_S) == whole
        ready_s = time.monotonic() - began
        with closing(Bare(started.access.url)) as bare:
            pairs = [(milliseconds(bare.discover), milliseconds(observe)) for _ in range(ROUNDS)]
        received = started.transcript.since(0)[-1]
    finally:
        started.close()
    return {
        "locked": count,
        "right": right,
        "listed_s": round(ready_s, 2),
        "bare_ms": round(statistics.median(bare for bare, _ in pairs), 2),
        "suite_adds_ms": round(statistics.median(ours - bare for bare, ours in pairs), 2),
        "answer_bytes": len(received.raw),
        "peak_mb": peak_mb(),
    }


def main() -> int:
    """Measure each size and print its figures; return 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("sizes", type=positive, nargs="*", default=SIZES)
    options = parser.parse_args()
    target = target_of(describe(kind="reference", file=None, given={}, environment={}))
    wrong = 0
    with closing(target), tempfile.TemporaryDirectory() as folder:
        for count in options.sizes:
            figures = measured(target, count, Path(folder))
            wrong += not figures["right"]
            print(json.dumps(figures), flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
