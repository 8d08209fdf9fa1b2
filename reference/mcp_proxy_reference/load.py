"""The proxy's own loader on its own: `python -m mcp_proxy_reference.load`, one load a line.

A line on standard input is `{"id": 1, "op": "load", "servers": [...], "max_attempts": 3,
"base_backoff_s": 0.05}`; the answer is one line with an outcome for each server, and the lines that
an agent would be warned with. It ends with its input.
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
WARNINGS = {
    "transient": "Still starting up, will be tried again",
    "permanent": "Needs attention, will not be tried again",
    "denied": "Access denied",
}


def answered(line: str) -> dict[str, Any]:
    """The answer to one line; what cannot be done is an `error`, with the line's id if any."""
    number = None
    try:
        asked = json.loads(line)
        number = asked.get("id")
        if asked["op"] != "load":
            return {"id": number, "unsupported": True}
        return {"id": number, "ok": asyncio.run(loaded(asked))}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"id": number, "error": f"{type(error).__name__}: {error}"}


async def loaded(asked: Mapping[str, Any], policy: LoadPolicy | None = None) -> dict[str, Any]:
    """What came of the load that was asked for."""
    outcomes = await load_all(
        [connection(one) for one in asked["servers"]],
        max_attempts=int(asked.get("max_attempts", 3)),
        base_backoff=float(asked.get("base_backoff_s", 0.25)),
        policy=policy,
    )
    return {"outcomes": [*map(told, outcomes)], "warnings": warned(outcomes)}


def connection(one: Mapping[str, Any]) -> Connection:
    """A server of the request as the loader takes it; an unknown transport leaves it unusable."""
    known = one.get("transport") in TRANSPORTS
    return Connection(
        server_id=one["server_id"],
        url=one.get("url") if known else None,
        command=one.get("command") if known else None,
        args=one.get("args") or (),
        env=one.get("env") or {},
        headers=one.get("headers") or {},
        timeout=float(one.get("timeout_s") or 5.0),
    )


def told(outcome: Outcome) -> dict[str, Any]:
    """An outcome as the answer tells it: of tools the names."""
    return {
        "server_id": outcome.server_id,
        "status": outcome.status,
        "tools": [tool["name"] for tool in outcome.tools],
        "error": outcome.error,
        "attempts": outcome.attempts,
    }


def warned(outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
    """One line for each class that some server is in, with their ids."""
    ids = {word: [one.server_id for one in outcomes if one.status == word] for word in WARNINGS}
    return {
        word: [f"{WARNINGS[word]}: {', '.join(own)}."] if own else [] for word, own in ids.items()
    }


def main() -> None:
    """Answer line by line until standard input ends."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answered(line), ensure_ascii=False) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
