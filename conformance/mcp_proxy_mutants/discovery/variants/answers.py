"""Variants of the answer as a whole: its members, their order and their spelling."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.variant import Fresh, Variant, variant
from mcp_proxy_reference.facts import Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import sections
from mcp_proxy_reference.search import terms
from mcp_proxy_reference.tools import render


def always_there(entries: Sequence[Json], remediation: Mapping[str, str]) -> Json:
    """Return the locked section and the remediation map, empty if no locked tool matches."""
    return {"disabled": list(entries), "remediation": dict(remediation)}


def map_first(entries: Sequence[Json], remediation: Mapping[str, str]) -> Json:
    """Return the members that the flag adds, with the remediation map before the locked entries."""
    return dict(reversed(sections(entries, remediation).items()))


def locked_first(document: Json, _request: Request) -> Json:
    """Return the answer with its members in reverse order, so that the locked section is first."""
    return dict(reversed(document.items()))


def marked_under_flag(document: Json, request: Request) -> Json:
    """Return a flagged answer with its callable entries marked, their number and the flag.

    The mark is the status `callable`; the number is the member `locked`, against its name. Other
    answers are unchanged.
    """
    if not request.flag:
        return document
    marked = [entry | {"status": "callable"} for entry in document["tools"]]
    return document | {"tools": marked, "include_disabled": True, "locked": len(marked)}


def text_again(document: Json, _request: Request) -> Json:
    """Return the answer with the first of its remediation texts again in a member `summary`.

    Without texts it is unchanged.
    """
    texts = list(document.get("remediation", {}).values())
    return document | ({"summary": f"Some tools are locked. {texts[0]}"} if texts else {})


def no_echo(document: Json, _request: Request) -> Json:
    """Return the answer without the query and the usage instructions."""
    return {
        name: value
        for name, value in document.items()
        if name not in ("query", "usage_instructions")
    }


def more_echo(document: Json, request: Request) -> Json:
    """Return the answer with the query and the limit as `request`, and the query in a message."""
    echo = {"query": request.query, "limit": request.arguments.get("limit")}
    return document | {"request": echo, "message": f"You asked: {request.query}"}


def echo_in_words(document: Json, request: Request) -> Json:
    """Return the answer with the query within a longer word, a member `cache_key`."""
    return document | {"cache_key": f"search_{request.query}_{request.limit}"}


def said_again(document: Json) -> str:
    """Return the document's JSON, with each status and some counts repeated with the same value."""
    return re.sub(
        r'("status":"\w+"|"disabled_by_\w+":\d+|"callable":\d+)', r"\1,\1", render(document)
    )


def echo_of_arguments(document: Json, request: Request) -> Json:
    """Return the answer with all arguments of the request, known or not, as `request`."""
    return document | {"request": dict(request.arguments)}


def of_all_matches(gateway: Gateway) -> None:
    """Add to flagged answers a text, one letter for each matching tool in scope, locked or not.

    It is the member `map_of_matches`.
    """

    def answer(document: Json, request: Request) -> Json:
        if not request.flag:
            return document
        tools = [
            facts.tool
            for server, known in gateway.known().items()
            if gateway.policy.scope(request.agent, server, "search")
            for facts in known
        ]
        wanted = set(terms(request.query))
        hits = sum(
            not wanted.isdisjoint(terms(f"{tool.name} {tool.description}")) for tool in tools
        )
        return document | {"map_of_matches": "x" * hits}

    decide(gateway, answer=answer)


class Clock:
    """An `answer` change that adds a counter and a duration, different in each answer."""

    def __init__(self) -> None:
        """Begin to count at 0."""
        self._count = 0

    def __call__(self, document: Json, _request: Request) -> Json:
        """Return the answer with a counter and a duration, which change every time."""
        self._count += 1
        return document | {"answer": self._count, "took_ms": self._count * 37 % 11 / 7}


class Generation:
    """An `answer` change that adds how often the tools or their locks have changed, not which."""

    def __init__(self, gateway: Gateway) -> None:
        """Keep the gateway, whose tools are compared from answer to answer.

        The number begins at 0.
        """
        self._gateway = gateway
        self._seen: object = None
        self._number = 0

    def __call__(self, document: Json, _request: Request) -> Json:
        """Return the answer with the number of changes so far as `generation`."""
        known = self._gateway.known()
        if known is not self._seen:
            self._seen = known
            self._number += 1
        return document | {"generation": self._number}


def generations(gateway: Gateway) -> None:
    """Add to answers, as `generation`, how often any tools or locks have changed.

    Changes beyond the agent's scope count too.
    """
    decide(gateway, answer=Generation(gateway))


FEW = 4


def hint_on_few(document: Json, _request: Request) -> Json:
    """Return the answer with advice to use other words if it has fewer than four callable tools."""
    few = len(document["tools"]) < FEW
    return document | ({"hint": "Few tools match; other words may find more."} if few else {})


def state_of_servers(gateway: Gateway) -> None:
    """Add to each answer, as `servers_apart`, how many servers in scope are quarantined or off.

    It is left out if none is.
    """

    def answer(document: Json, request: Request) -> Json:
        servers = [
            server
            for server in gateway.config.servers.values()
            if gateway.policy.scope(request.agent, server.name, "listing")
        ]
        apart = sum(server.quarantined or not server.enabled for server in servers)
        return document | ({"servers_apart": apart} if apart else {})

    decide(gateway, answer=answer)


def pretty(document: Json) -> str:
    """Return the document as JSON over several indented lines."""
    return json.dumps(document, ensure_ascii=False, indent=2)


def escaped(document: Json) -> str:
    """Return the document as JSON in ASCII, with members sorted at every depth."""
    return json.dumps(document, ensure_ascii=True, sort_keys=True)


def backwards(document: Json) -> str:
    """Return the document as JSON with members in reverse order at every depth."""
    return json.dumps(_turned(document), ensure_ascii=False, separators=(",", ":"))


def _turned(value: Any) -> Any:
    """Return the JSON value with the members of all objects in reverse order; lists keep theirs."""
    if isinstance(value, dict):
        return {name: _turned(inner) for name, inner in reversed(value.items())}
    return [_turned(inner) for inner in value] if isinstance(value, list) else value


VARIANTS: tuple[Variant, ...] = (
    variant(
        "empty-members",
        "With the flag, the section and the map are always present, even if empty.",
        "empty-members-under-flag",
        "FR-002.no-locks-no-change~empty-members",
        "FR-005.keys~absent",
        sections=always_there,
    ),
    variant(
        "empty-section-under-the-flag",
        "With the flag, the section alone is always present, even if empty.",
        "empty-members-under-flag",
        "FR-002.no-locks-no-change~empty-members",
        sections=lambda *both: {"disabled": []} | sections(*both),
    ),
    variant("map-first", "The map comes before the section.", sections=map_first),
    variant(
        "locked-section-first",
        "The locked section is the first member.",
        "callables-first",
        "FR-006.section-order",
        answer=locked_first,
    ),
    variant(
        "marked-under-flag",
        "With the flag, callable entries are marked as callable.",
        "callables-under-flag",
        "FR-006.callables~bytes",
        answer=marked_under_flag,
    ),
    variant(
        "text-again",
        "A summary repeats a text of the map.",
        "remediation-once",
        "FR-005.once~elsewhere",
        answer=text_again,
    ),
    variant("no-echo", "The answer does not repeat the query.", "echo", answer=no_echo),
    variant(
        "more-echo",
        "The answer repeats the limit once and the query twice.",
        "echo",
        answer=more_echo,
    ),
    variant(
        "echo-in-words",
        "The answer repeats the query within a longer word.",
        "echo",
        answer=echo_in_words,
    ),
    variant(
        "members-again",
        "Entries and blocks of counts repeat some members with the same value.",
        "repeated-members",
        render=said_again,
    ),
    variant(
        "echo-of-arguments",
        "The answer repeats all arguments, known or not.",
        "echo",
        "echo-of-the-flag",
        answer=echo_of_arguments,
    ),
    variant(
        "length-by-matches",
        "With the flag, an answer has one more letter for each match.",
        "bounded-bytes",
        "SC-004.bounded",
        swap=of_all_matches,
    ),
    variant(
        "never-the-same",
        "Each answer has its own number and time.",
        "byte-identity",
        answer=Fresh(Clock),
    ),
    variant(
        "generations",
        "Answers show how often the state has changed, also beyond the agent's scope.",
        "restored-bytes",
        "FR-002.restored",
        "non-interference",
        "FR-007.non-interference",
        swap=generations,
    ),
    variant(
        "hint-on-few", "Answers with few callable tools advise other words.", answer=hint_on_few
    ),
    variant(
        "state-of-servers",
        "Every answer has the number of servers that are in quarantine or off, if any are.",
        "unmoved-bytes",
        "FR-002.unmoved~bytes",
        "FR-002.no-locks-no-change~empty-members",
        swap=state_of_servers,
    ),
    variant("pretty", "Answers are JSON over many lines.", render=pretty),
    variant("escaped", "Answers are JSON in ASCII with sorted members.", render=escaped),
    variant(
        "backwards",
        "The members of answers are in reverse order.",
        "callables-first",
        "FR-006.section-order",
        render=backwards,
    ),
)
