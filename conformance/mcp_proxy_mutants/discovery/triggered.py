"""Proxies with a base fault that shows only at tools, or requests, with certain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.pieces import CONFIG, USER, is_call
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Purpose, Status

Asked = tuple[str, Any, str]
"""A request: its query, its limit, and the agent that sends it, empty for the administrator."""
Shows = Sequence[Mapping[str, str]]


@dataclass(slots=True)
class Triggered:
    """The tools and the requests at which a fault shows; without requests it shows in all."""

    tools: set[str] = field(default_factory=set)
    requests: set[Asked] | None = None

    def has(self, name: str) -> bool:
        """Whether the fault shows at the tool of this name, `server:tool`."""
        return name in self.tools

    def asks(self, request: Request) -> bool:
        """Whether the fault shows in the answer to this request."""
        agent = "" if request.agent.name == "administrator" else request.agent.name
        asked = request.query, request.arguments.get("limit"), agent
        return self.requests is None or asked in self.requests


@dataclass(frozen=True, slots=True)
class Base:
    """A base fault: `make` returns what it changes in a proxy, where it is triggered.

    `shows` are values of which a row needs one set for the fault to be one. `of_requests`: it is
    in answers to discovery requests, so that it can show at some of them only.
    """

    name: str
    make: Callable[[Triggered], Mapping[str, Any]]
    shows: Shows
    of_requests: bool = True

    def proxy(self, triggered: Triggered) -> Changed:
        """Return the proxy that has the fault where it is triggered."""
        return Changed(id=self.name, text=self.name, change=self.make(triggered))


def _entries(change: Callable[[Json], Json]) -> Callable[[Triggered], Mapping[str, Any]]:
    """Return a base fault's `make`: triggered tools' locked entries pass through `change`."""

    def make(triggered: Triggered) -> Mapping[str, Any]:
        def answer(document: Json, request: Request) -> Json:
            if "disabled" not in document or not triggered.asks(request):
                return document
            entries = [change(each) if triggered.has(each["name"]) else each
                       for each in document["disabled"]]  # fmt: skip
            kept = [each for each in entries if each]
            known = document["remediation"] | std.REMEDIATION
            texts = {word: known[word] for word in sorted({each["status"] for each in kept})}
            added = {"disabled": kept, "remediation": texts} if kept else {}
            rest = {n: v for n, v in document.items() if n not in ("disabled", "remediation")}
            return rest | added

        return {"answer": answer}

    return make


def _by_default(triggered: Triggered) -> Mapping[str, Any]:
    """Reveal a triggered tool without the flag."""

    def answer(document: Json, request: Request) -> Json:
        if request.flag or not triggered.asks(request):
            return document
        shown = [{"name": name, "server": name.partition(":")[0], "status": CONFIG}
                 for name in sorted(triggered.tools)]  # fmt: skip
        return document | {"disabled": shown, "remediation": {CONFIG: std.REMEDIATION[CONFIG]}}

    return {"answer": answer}


def _one_too_many(triggered: Triggered) -> Mapping[str, Any]:
    """List one locked entry over the cap."""

    def answer(document: Json, request: Request) -> Json:
        is_full = len(document.get("disabled", ())) >= std.cap(request.limit)
        if not is_full or not triggered.asks(request):
            return document
        last = document["disabled"][-1]
        more = last | {"name": f"{last['name']}x"}
        return document | {"disabled": [*document["disabled"], more]}

    return {"answer": answer}


def _displaced(triggered: Triggered) -> Mapping[str, Any]:
    """With the flag, list one callable tool less."""

    def answer(document: Json, request: Request) -> Json:
        if "disabled" not in document or not triggered.asks(request):
            return document
        return document | {"tools": document["tools"][:-1]}

    return {"answer": answer}


def _noteless(triggered: Triggered) -> Mapping[str, Any]:
    """Leave the note out."""

    def answer(document: Json, request: Request) -> Json:
        gone = {"notice"} if triggered.asks(request) else set[str]()
        return {name: value for name, value in document.items() if name not in gone}

    return {"answer": answer}


def _false_is_odd(triggered: Triggered) -> Mapping[str, Any]:
    """With the flag false, answer with an empty section."""

    def answer(document: Json, request: Request) -> Json:
        is_false = request.arguments.get("include_disabled") is False
        return document | ({"disabled": []} if is_false and triggered.asks(request) else {})

    return {"answer": answer}


def _executes(triggered: Triggered) -> Mapping[str, Any]:
    """Let calls of a triggered tool through."""

    def may_call(facts: Facts, surface: str) -> bool:
        return std.may_call(facts, surface) or (is_call(surface) and triggered.has(facts.tool.key))

    return {"may_call": may_call}


def _uncounted(triggered: Triggered) -> Mapping[str, Any]:
    """Leave a triggered tool out of its server's counts."""

    def counts(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
        return std.counts([each for each in tools if not triggered.has(each[0].tool.key)])

    return {"counts": counts}


def _refused_otherwise(triggered: Triggered) -> Mapping[str, Any]:
    """Refuse a triggered tool with the text of another lock."""

    def rejection(facts: Facts, texts: Mapping[Status, str]) -> str:
        if not triggered.has(facts.tool.key):
            return std.rejection(facts, texts)
        other: Status = USER if std.classify(facts) == CONFIG else CONFIG
        return f"The tool {facts.tool.key} was not called. {texts[other]} {std.POINTER}"

    return {"rejection": rejection}


def _beyond_scope(triggered: Triggered) -> Mapping[str, Any]:
    """Let every agent know the server of a triggered tool."""

    def scope(agent: Agent, server: str, purpose: Purpose) -> bool:
        known = {name.partition(":")[0] for name in triggered.tools}
        return std.scope(agent, server, purpose) or server in known

    return {"scope": scope}


def _other_status(entry: Json) -> Json:
    return entry | {"status": USER if entry["status"] != USER else CONFIG}


VOUCHED = ("config", "denied", "not-allowed", "user", "config-user")
LOCKED = (
    *VOUCHED, "pending", "changed", "quarantined", "off", "config-pending", "config-changed",
    "user-changed",
)  # fmt: skip
OF_LOCKED: Shows = tuple({"lock": lock} for lock in LOCKED)
OF_VOUCHED: Shows = tuple({"lock": lock} for lock in VOUCHED)
NOTED: Shows = tuple(
    {"lock": lock, "callables": "none", "name": name, "agent": agent}
    for lock in VOUCHED
    for name in ("verb", "bare", "signs", "reserved")
    for agent in ("admin", "all", "some")
)
IN_SCOPE: Shows = tuple(
    {"lock": lock, "agent": agent} for lock in VOUCHED for agent in ("admin", "all", "some")
)
BASES = (
    Base("reveals-by-default", _by_default, OF_LOCKED),
    Base("lists-no-entry", _entries(lambda _: {}), IN_SCOPE),
    Base("tells-another-status", _entries(_other_status), IN_SCOPE),
    Base("cuts-the-description", _entries(
        lambda entry: entry | {"description": entry.get("description", "")[:-1]}),
        tuple({**shows, "description": text} for shows in IN_SCOPE
              for text in ("plain", "long", "lines", "scripts", "markup", "query-like", "advice"))),
    Base("renames-an-entry", _entries(lambda entry: entry | {"name": f"{entry['name']}_"}),
         IN_SCOPE),
    Base("tells-another-server", _entries(lambda entry: entry | {"server": "elsewhere"}),
         tuple({**shows, "name": name} for shows in IN_SCOPE
               for name in ("verb", "bare", "begins", "longer", "case", "signs", "reserved"))),
    Base("adds-a-schema", _entries(lambda entry: entry | {"inputSchema": {"type": "object"}}),
         IN_SCOPE),
    Base("lists-one-too-many", _one_too_many,
         tuple({"lock": "config", "agent": agent, "locked": locked, "query": "group"}
               for agent in ("admin", "all", "some") for locked in ("sixty",))),
    Base("displaces-a-callable", _displaced,
         tuple({"lock": "config", "agent": agent, "callables": number, "query": "group"}
               for agent in ("admin", "all", "some") for number in ("one", "some"))),
    Base("gives-no-note", _noteless, NOTED),
    Base("false-is-odd", _false_is_odd, ({},)),
    Base("executes", _executes, OF_LOCKED, of_requests=False),
    Base("counts-it-not", _uncounted, OF_VOUCHED, of_requests=False),
    Base("refuses-otherwise", _refused_otherwise, OF_VOUCHED, of_requests=False),
    Base("tells-every-agent", _beyond_scope,
         tuple({"lock": lock, "agent": "beyond"} for lock in VOUCHED), of_requests=False),
)  # fmt: skip
