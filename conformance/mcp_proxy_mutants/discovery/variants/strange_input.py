"""Variants that leave oddly named tools out, clean texts, or refuse odd queries."""

import re
from collections.abc import Awaitable, Callable

from mcp_proxy_mutants.discovery.pieces import left_out
from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Status
from mcp_proxy_reference.policy import callable_entry, locked_entry

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\u2028\u2029\u202a-\u202e]|<[^>]*>")
LONGEST = 500
UNFIT = -32602


def cleaned(entry: Json) -> Json:
    """Return the entry without control characters and markup in its description, if it has one."""
    text = {name: CONTROLS.sub("", entry[name]) for name in ("description",) if name in entry}
    return entry | text


def cleaned_callable(hit: Match) -> Json:
    """Return a callable tool's entry without control characters and markup in its description."""
    return cleaned(callable_entry(hit))


def cleaned_locked(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return a locked tool's entry without control characters and markup in its description."""
    return cleaned(locked_entry(facts, status, withheld))


async def refused(
    _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
) -> Json:
    """Return the usual reply; a JSON-RPC error for a query that is not a short printable line.

    Short is under 500 characters, and not blank.
    """
    params = message.get("params") or {}
    if not isinstance(params, dict) or params.get("name") != "retrieve_tools":
        return await respond()
    arguments = params.get("arguments")
    query = arguments.get("query") if isinstance(arguments, dict) else None
    if isinstance(query, str) and query.strip() and len(query) < LONGEST and query.isprintable():
        return await respond()
    error = {"code": UNFIT, "message": "The query must be a short line of text."}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


VARIANTS: tuple[Variant, ...] = (
    variant(
        "strange-names-left-out",
        "Only tools whose names are plain words are found and listed.",
        "strange-tools",
        "ROB.tools~themselves",
        swap=left_out(lambda facts: not re.fullmatch(r"[a-z]\w*", facts.tool.name)),
    ),
    variant(
        "texts-cleaned",
        "Control characters and markup are removed from descriptions.",
        "cleaned-texts",
        "ROB.tools~text",
        callable_entry=cleaned_callable,
        locked_entry=cleaned_locked,
    ),
    variant("odd-queries-refused", "Long and unprintable queries are refused.", reply=refused),
)
