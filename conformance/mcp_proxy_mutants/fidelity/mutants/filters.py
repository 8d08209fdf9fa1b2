"""Relay mutants of declared filters: filtered tools that are listed, or called."""

from collections.abc import Container

from mcp_proxy_mutants.fidelity.changed import JSON, Around, Forward, Got, Sent, by_message
from mcp_proxy_mutants.fidelity.in_front import in_front
from mcp_proxy_mutants.fidelity.json_text import Number, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import listed

FILTERED = ("kept_back", "page_6")


def filtering(
    *, pages: bool = True, first: bool = True, calls: bool = True, names: Container[str] = FILTERED
) -> Around:
    """Return a filter that takes tools out of the first page and of later ones, and refuses calls.

    Each can be left out. `names` are those of the tools.
    """
    hiding = by_message(down=listed(lambda tool: None if tool["name"] in names else tool))

    async def around(sent: Sent, forward: Forward) -> Got:
        params = sent.message.get("params") or {}
        if sent.message.get("method") == "tools/call" and params.get("name") in names and calls:
            error = {"code": Number("-32602"), "message": "Unknown tool"}
            body = write({"jsonrpc": "2.0", "id": sent.message["id"], "error": error})
            return Got(status=200, headers=JSON, body=body)
        is_hidden = pages if "cursor" in params else first
        return await (hiding(sent, forward) if is_hidden else forward(sent))

    return around


MUTANTS = (
    relay_mutant(
        "relay-hides-and-executes",
        "Filtered tools are not listed, and executed when called.",
        "RLY.tools.filtered",
        make=lambda: filtering(calls=False),
        filters=FILTERED,
    ),
    relay_mutant(
        "relay-refuses-what-it-lists",
        "Some tools are listed, and refused when called; no filter is declared.",
        "RLY.tools.complete.callable",
        make=lambda: filtering(pages=False, first=False, names=("count",)),
    ),
    relay_mutant(
        "relay-lists-and-refuses",
        "Filtered tools are listed, and refused when called.",
        "RLY.tools.filtered",
        make=lambda: filtering(pages=False, first=False),
        filters=FILTERED,
    ),
    relay_mutant(
        "relay-filters-for-new-clients",
        "Tools are filtered for clients of 2026-07-28 alone.",
        "RLY.tools.filtered",
        make=by_message,
        front=in_front(make=filtering),
        filters=FILTERED,
    ),
    relay_mutant(
        "relay-filters-the-first-page",
        "Filtered tools of later pages are listed, and refused when called.",
        "RLY.tools.filtered",
        make=lambda: filtering(pages=False),
        filters=FILTERED,
    ),
)
