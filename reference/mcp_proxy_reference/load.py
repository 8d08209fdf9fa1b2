"""Stand-alone loader: `python -m mcp_proxy_reference.load` performs one load for each line.

A line on standard input is `{"id": 1, "op": "load", "servers": [...], "max_attempts": 3,
"base_backoff_s": 0.05}`; the answer is one line with an outcome for each server, and the lines that
an agent would be warned with. The operation `hello` is answered with what the loader can do. It
ends with its input.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_proxy_reference.loader import Connection, LoadPolicy, Outcome
from mcp_proxy_reference.upstream import load_all

TRANSPORTS = (None, "streamable-http", "stdio")
HELLO = {
    "capabilities": ["classifies", "retries", "attempts", "warnings", "stdio"],
    "name": "mcp-proxy-reference",
}
WARNINGS = {
    "transient": "Still starting up, will be tried again",
    "permanent": "Needs attention, will not be tried again",
    "denied": "Access denied",
}


def answered(line: str) -> dict[str, Any]:
    """Return the answer to one line of JSON: to `hello` or `load`, else `unsupported`.

    A malformed line or request becomes its `error`.
    """
    number = None
    try:
        request = json.loads(line)
        number = request.get("id")
        if request["op"] == "hello":
            return {"id": number, "ok": HELLO}
        if request["op"] != "load":
            return {"id": number, "unsupported": True}
        return {"id": number, "ok": asyncio.run(loaded(request))}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"id": number, "error": f"{type(error).__name__}: {error}"}


async def loaded(request: Mapping[str, Any], policy: LoadPolicy | None = None) -> dict[str, Any]:
    """Make the requested load and return its outcomes and warnings as JSON values.

    By default, three attempts and a first pause of 0.25 s. Servers that fail are outcomes; a
    malformed request is a KeyError, TypeError or ValueError.
    """
    outcomes = await load_all(
        [connection(server) for server in request["servers"]],
        max_attempts=int(request.get("max_attempts", 3)),
        base_backoff=float(request.get("base_backoff_s", 0.25)),
        policy=policy,
    )
    return {"outcomes": [*map(as_json, outcomes)], "warnings": warned(outcomes)}


def connection(server: Mapping[str, Any]) -> Connection:
    """Return a Connection to a server of the request; unusable if its transport is unknown.

    Its timeout is 5 s by default.
    """
    known = server.get("transport") in TRANSPORTS
    return Connection(
        server_id=server["server_id"],
        url=server.get("url") if known else None,
        command=server.get("command") if known else None,
        args=server.get("args") or (),
        env=server.get("env") or {},
        headers=server.get("headers") or {},
        timeout=float(server.get("timeout_s") or 5.0),
    )


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as it appears in the answer, with the names of its tools."""
    return {
        "server_id": outcome.server_id,
        "status": outcome.status,
        "tools": [tool["name"] for tool in outcome.tools],
        "error": outcome.error,
        "attempts": outcome.attempts,
    }


def warned(outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
    """Map each status but available to its warnings: one line with the servers' ids, or none."""
    ids = {
        word: [outcome.server_id for outcome in outcomes if outcome.status == word]
        for word in WARNINGS
    }
    return {
        word: [f"{WARNINGS[word]}: {', '.join(own)}."] if own else [] for word, own in ids.items()
    }


def main() -> None:
    """Answer each line of standard input by one line, until it ends."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answered(line), ensure_ascii=False) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
