"""Mutants that rewrite answers with the flag true: tools missing, stale, invented; flag refused."""

from __future__ import annotations

import time

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.selftest.edits import (
    Document,
    dropped,
    flagged,
    locked,
    restated,
    tools,
    wire,
    with_locked,
)
from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault

CACHED_S = 10.0
REVEALS = ("FR-001.reveals-config", "FR-001.reveals-user")


def _cached(*parts: str) -> dict[str, object]:
    """Return hooks that answer flagged requests from a cache of 10 s, keyed by these properties.

    `parts` names properties of the exchange, such as `query`.
    """

    def place(x: WireExchange) -> tuple[str, ...]:
        """Return the key of the exchange in the memory: "cached" and the properties' values."""
        return ("cached", *(str(getattr(x, part)) for part in parts))

    def instead(x: WireExchange) -> Json | None:
        """Return a flagged request's answer, from the cache or else the target; else None."""
        if not x.flagged:
            return None
        at, result = x.memory.get(place(x), (0.0, None))
        if result is None or time.monotonic() - at > CACHED_S:
            result = x.send("tools/call", x.params)
            x.memory[place(x)] = (time.monotonic(), result)
        return result

    return {"instead": instead}


def _only_the_first_time(x: WireExchange, answer: Document) -> Document | None:
    """Empty the locked section if the same agent sent this query with the flag before.

    Else None, no change.
    """
    requests: set[tuple[str, str]] = x.memory.setdefault("asked", set())
    again = (x.agent, x.query) in requests
    requests.add((x.agent, x.query))
    return with_locked(x, answer, []) if again else None


def _not_the_first_time(x: WireExchange, answer: Document) -> Document | None:
    """Empty the locked section if this agent has not sent this query with the flag before.

    Else None, no change.
    """
    requests: set[tuple[str, str]] = x.memory.setdefault("asked", set())
    first = (x.agent, x.query) not in requests
    requests.add((x.agent, x.query))
    return with_locked(x, answer, []) if first else None


def _remembered(x: WireExchange, answer: Document) -> Document | None:
    """Fill the locked section, up to the limit or ten, with locked entries of earlier answers.

    The added entries are from answers to the same agent, and of tools that this answer does not
    list; remediation texts are added for their statuses. None (no change) if there is no entry at
    all.
    """
    known: dict[str, Json] = x.memory.setdefault(("known", x.agent), {})
    entries = locked(x, answer)
    known |= {entry["name"]: entry for entry in entries}
    here = {entry["name"] for entry in (*entries, *tools(x, answer))}
    most = x.limit if isinstance(x.limit, int) and 0 < x.limit < 10 else 10  # noqa: PLR2004
    more = [entry for name, entry in known.items() if name not in here]
    names = x.surface.members
    filled = [*entries, *more][:most]
    texts = x.memory.setdefault(("texts", x.agent), {})
    texts |= answer.get(names.remediation) or {}
    whole = answer | {names.remediation: dict(texts)}
    return with_locked(x, whole, filled) if filled else None


def _invented(x: WireExchange, answer: Document) -> Document | None:
    """Add, as first locked entry and pending, the tool named by the query, if it was called before.

    The first ten entries stay. None (no change) if no such tool was called, or the answer has it.
    """
    called = x.memory.get("called", {}).get(x.query)
    if called is None or called.tool in str(tools(x, answer)) + str(locked(x, answer)):
        return None
    status, names = "pending_approval", x.surface.members
    entry = {"name": called.tool, "server": called.server, "status": status}
    texts = {status: "Ask the user to review and approve the tool."}
    whole = answer | {names.remediation: texts | (answer.get(names.remediation) or {})}
    return with_locked(x, whole, [entry, *locked(x, answer)][:10])


def _noting_calls(x: WireExchange) -> Json | None:
    """Remember the upstream tool that is called; return None, so that the target answers."""
    if x.called is not None:
        x.memory.setdefault("called", {})[x.called.tool] = x.called
    return None


def _every_seventh_unknown(x: WireExchange, answer: Document) -> Document | None:
    """In every seventh flagged answer, give config and user locks the status disabled_unknown.

    Answers to all agents are counted. None (no change) for the other six, and without locked
    entries.
    """
    x.memory["turn"] = x.memory.get("turn", 0) + 1
    if x.memory["turn"] % 7:
        return None
    words = {"disabled_by_config": "disabled_unknown", "disabled_by_user": "disabled_unknown"}
    return restated(words)(x, answer)


def _refused(x: WireExchange, result: Json) -> Json | None:
    """With the flag true, replace the result with an error that calls the flag unknown.

    None (no change) for other requests.
    """
    refused = {"content": [{"type": "text", "text": f"unknown argument {FLAG}"}], "isError": True}
    return result | refused if x.flagged else None


def _in_two_items(x: WireExchange, result: Json) -> Json | None:
    """With the flag true, add a second text item, with a JSON object, to the result's content.

    None (no change) for other requests.
    """
    more = {"type": "text", "text": '{"locked": "Locked tools are listed too."}'}
    return result | {"content": [*result["content"], more]} if x.flagged else None


def _ignored_at_last_endpoint(x: WireExchange) -> Json | None:
    """At the last of several endpoints, answer a request with the flag true as if it were left out.

    None for other requests: the target answers.
    """
    places = x.surface.endpoints
    other = len(places) > 1 and x.path == places[-1]
    return x.again(**{FLAG: None}) if x.flagged and other else None


def _sent_twice(x: WireExchange) -> Json | None:
    """Send a request with the flag true once more; return None, so that the target answers too."""
    if x.flagged:
        x.send("tools/call", x.params)
    return None


def _default_counted(x: WireExchange) -> Json | None:
    """Before a request without the flag, send one with it; return None: the target answers."""
    if x.usual:
        x.revealing()
    return None


FAULTS: tuple[WireFault, ...] = (
    wire("reveals-nothing", "The flag reveals nothing.", *REVEALS,
         document=dropped(lambda *_: True)),
    wire(
        "reveals-no-config", "Tools locked by config are not revealed.", "FR-001.reveals-config",
        document=dropped(lambda _, e: e["status"] == "disabled_by_config"),
    ),
    wire(
        "reveals-no-user", "Tools locked by the user are not revealed.", "FR-001.reveals-user",
        document=dropped(lambda _, e: e["status"] == "disabled_by_user"),
    ),
    wire(
        "reveals-no-pending", "Tools that await approval are not revealed.",
        "FR-001.reveals-pending", "FR-001.reveals-changed",
        document=dropped(lambda _, e: e["status"] == "pending_approval"),
    ),
    wire(
        "reveals-no-quarantined", "Quarantined tools are not revealed.",
        "FR-001.reveals-quarantined",
        document=dropped(lambda _, e: e["status"] == "server_quarantined"),
    ),
    wire(
        "reveals-no-unknown", "Tools locked for an unknown reason are not revealed.",
        "FR-004.unknown", document=dropped(lambda _, e: e["status"] == "disabled_unknown"),
    ),
    wire(
        "reveals-to-admin", "The flag reveals nothing to agents.", *REVEALS,
        "FR-007.before-cap", document=dropped(lambda x, _: bool(x.agent)),
    ),
    wire(
        "reveals-by-name", "The flag reveals only tools whose name contains the query.",
        "FR-001.by-description", document=dropped(lambda x, entry: x.query not in entry["name"]),
    ),
    wire(
        "reveals-once", "For a repeated query, the flag reveals nothing.",
        *REVEALS, "FR-004.deterministic", document=flagged(_only_the_first_time),
    ),
    wire(
        "reveals-late", "For a query that is asked for the first time, the flag reveals nothing.",
        *REVEALS,
        "SC-002.two-steps", document=flagged(_not_the_first_time),
    ),
    wire(
        "reveals-remembered", "The locked section is filled up with entries of earlier answers.",
        "FR-002.no-locks-no-change", "FR-004.follows-state", document=flagged(_remembered),
    ),
    wire(
        "reveals-denied-as-pending", "A tool that is denied and not approved is listed as pending.",
        "FR-004.config-skips-quarantine", "FR-004.precedence",
        document=flagged(_invented), instead=_noting_calls,
    ),
    wire(
        "cached", "Answers to requests with the flag are cached for 10 s.",
        "FR-004.follows-state", *REVEALS,
        **_cached("agent", "query", "limit"),
    ),
    wire(
        "cached-across-agents", "Answers to requests with the flag are cached across agents.",
        "FR-007.hidden", **_cached("query", "limit"),
    ),
    wire(
        "cached-across-limits", "Answers to requests with the flag are cached across limits.",
        "FR-006.cap", "FR-006.callables", **_cached("agent", "query"),
    ),
    wire(
        "status-wavers", "Every seventh answer lists locked tools as disabled_unknown.",
        "FR-004.deterministic", document=flagged(_every_seventh_unknown),
    ),
    wire("flag-refused", "A request with the flag true is answered with an error.",
         "FR-001.accepts", result=_refused),
    wire("flag-of-two-items", "With the flag true, the answer has two JSON documents.",
         "FR-001.accepts",
         result=_in_two_items),
    wire(
        "flag-at-one-endpoint", "The flag is ignored at the last endpoint.", "FR-001.accepts",
        instead=_ignored_at_last_endpoint,
    ),
    wire("counted-twice", "A request with the flag is counted twice.",
         "FR-013.counts", instead=_sent_twice),
    wire(
        "default-counted", "A request without the flag is counted as an opt-in.", "FR-013.counts",
        instead=_default_counted,
    ),
)  # fmt: skip
