"""Relay mutants of results that ask for input, of their request state, and of cache hints."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.fidelity.changed import (
    JSON,
    Around,
    Down,
    Forward,
    Got,
    Sent,
    Up,
    by_message,
    changed_events,
)
from mcp_proxy_mutants.fidelity.json_text import Json, Number, mapped, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import is_text, without

STATE, RESPONSES, REQUESTS = "requestState", "inputResponses", "inputRequests"
CACHED = "resources/read"


def asking(change: Callable[[dict[str, Json]], Json]) -> Down:
    """Return a filter that changes results that ask for input."""

    def down(message: dict[str, Json], _: dict[str, Json]) -> Json:
        result = message.get("result")
        if not isinstance(result, dict) or result.get("resultType") != "input_required":
            return message
        return message | {"result": change(result)}

    return down


def retrying(change: Callable[[dict[str, Json]], Json]) -> Up:
    """Return a filter that changes the params of retries, which bring a state or answers."""

    def up(message: dict[str, Json]) -> Json:
        params = message.get("params")
        if not isinstance(params, dict) or not {STATE, RESPONSES} & params.keys():
            return message
        return message | {"params": change(params)}

    return up


def _ascii(value: Json) -> Json:
    """Return a text without letters beyond ASCII; any other value as it is."""
    return value.encode("ascii", "ignore").decode() if is_text(value) else value


def _declined(params: dict[str, Json]) -> Json:
    """Return the params of a retry whose answers all decline."""
    given = params.get(RESPONSES) or {}
    return params | {RESPONSES: {name: {"action": "decline"} for name in given}}


def _as_text(result: dict[str, Json]) -> Json:
    """Return a finished result whose text is what the upstream asks."""
    questions = [each.get("params", {}) for each in result.get(REQUESTS, {}).values()]
    texts = [{"type": "text", "text": str(each.get("message", ""))} for each in questions]
    return {"resultType": "complete", "content": texts}


def _one_state() -> Around:
    """Return a filter that keeps one state, the latest, and puts it into every retry."""
    latest: list[Any] = []

    def down(result: dict[str, Json]) -> Json:
        latest[:] = [result[STATE]]
        return result

    return by_message(retrying(lambda params: params | {STATE: latest[0]}), asking(down))


def _stuck_state() -> Around:
    """Return a filter that puts a state into every call that follows."""
    latest: list[Any] = []

    def up(message: dict[str, Json]) -> Json:
        if message.get("method") != "tools/call" or not latest:
            return message
        return message | {"params": {STATE: latest[0]} | message["params"]}

    def down(result: dict[str, Json]) -> Json:
        latest[:] = [result[STATE]]
        return result

    return by_message(up, asking(down))


def _first_ids() -> Around:
    """Return a filter that gives each call the id 1 upstream, and its answer the client's own."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if sent.headers.get("mcp-method") != "tools/call":
            return await forward(sent)

        def restored(came: dict[str, Json], _: dict[str, Json]) -> Json:
            return came | {"id": message["id"]} if "id" in came else came

        got = await forward(sent.saying(message | {"id": Number("1")}))
        if got.events is not None:
            return replace(got, events=changed_events(got.events, restored, message))
        return got.saying(restored(got.message, message))

    return around


def _numbered_states() -> Around:
    """Return a filter that gives clients states with a number and a seal, which it ignores."""
    states: list[Any] = []

    def down(result: dict[str, Json]) -> Json:
        states.append(result[STATE])
        return result | {STATE: f"{len(states) - 1}.{'5e' * 32}"}

    def up(params: dict[str, Json]) -> Json:
        number = str(params.get(STATE)).partition(".")[0]
        known = number.isdigit() and int(number) < len(states)
        return params | {STATE: states[int(number)]} if known else params

    return by_message(retrying(up), asking(down))


def _remembered_states() -> Around:
    """Return a filter that finds the state of a retry by what is called."""
    states: dict[bytes, Any] = {}

    def about(params: dict[str, Json]) -> bytes:
        return write(without(params, STATE, RESPONSES, "_meta"))

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        result = message.get("result")
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            states[about(asked["params"])] = result[STATE]
        return message

    return by_message(
        retrying(lambda params: params | {STATE: states.get(about(params), params.get(STATE))}),
        down,
    )


def _cached(*, of_retries: bool) -> Around:
    """Return a filter that keeps what was read, for every client.

    With `of_retries` it keeps what a retry has brought only, else everything.
    """
    kept: dict[str, Json] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") != CACHED:
            return await forward(sent)
        params = message["params"]
        uri, is_retry = str(params.get("uri")), RESPONSES in params
        if uri in kept and not is_retry:
            body = write({"jsonrpc": "2.0", "id": message["id"], "result": kept[uri]})
            return Got(status=200, headers=JSON, body=body)
        got = await forward(sent)
        result = got.message.get("result")
        if isinstance(result, dict) and "contents" in result and (is_retry or not of_retries):
            kept[uri] = result
        return got

    return around


def hinting(change: Callable[[dict[str, Json], bool], Json]) -> Down:
    """Return a filter that changes results with hints for caches.

    `change` gets the result, and whether the request had a cursor.
    """

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        result = message.get("result")
        if not isinstance(result, dict) or "cacheScope" not in result:
            return message
        is_later = "cursor" in (asked.get("params") or {})
        return message | {"result": change(result, is_later)}

    return down


PUBLIC = {"cacheScope": "public"}
MUTANTS = (
    relay_mutant(
        "relay-rewords-questions-in-results",
        "What an upstream asks in a result loses letters beyond ASCII.",
        "RLY.era.elicit.crosses",
        down=asking(lambda result: result | {REQUESTS: mapped(result[REQUESTS], _ascii)}),
    ),
    relay_mutant(
        "relay-declines-for-clients",
        "Whatever a client answers to what a result asks, the upstream gets a refusal.",
        "RLY.era.elicit.crosses",
        up=retrying(_declined),
    ),
    relay_mutant(
        "relay-gives-out-questions",
        "The type of a result that asks for input is lost.",
        "RLY.era.elicit.finished",
        down=asking(lambda result: without(result, "resultType")),
    ),
    relay_mutant(
        "relay-says-questions",
        "A result that asks for input becomes a finished one with the question as its text.",
        "RLY.era.elicit.finished",
        down=asking(_as_text),
    ),
    relay_mutant(
        "relay-cleans-states",
        "States lose letters beyond ASCII on their way back.",
        "RLY.era.elicit.state",
        up=retrying(lambda params: params | {STATE: _ascii(params.get(STATE))}),
    ),
    relay_mutant(
        "relay-keeps-one-state",
        "Every retry goes up with the latest state, whosever it is.",
        "RLY.era.elicit.state",
        make=_one_state,
    ),
    relay_mutant(
        "relay-keeps-states",
        "Calls after a result that asks for input go up with its state.",
        "RLY.era.elicit.state",
        make=_stuck_state,
    ),
    relay_mutant(
        "relay-counts-ids-anew",
        "Each call goes up under the id 1.",
        "RLY.era.elicit.state",
        make=_first_ids,
    ),
    relay_mutant(
        "relay-numbers-states",
        "Clients get states with a number and a seal, and the seal is not looked at.",
        "RLY.era.elicit.state-forged",
        make=_numbered_states,
    ),
    relay_mutant(
        "relay-remembers-states",
        "The state of a retry is found by what is called, whatever the client sends.",
        "RLY.era.elicit.state-forged",
        make=_remembered_states,
    ),
    relay_mutant(
        "relay-caches-what-is-private",
        "What one client has read, every other one is given.",
        "RLY.era.cache.private",
        make=lambda: _cached(of_retries=False),
    ),
    relay_mutant(
        "relay-caches-retries",
        "What one client has read by a retry with input, every other one is given.",
        "RLY.era.cache.private",
        make=lambda: _cached(of_retries=True),
    ),
    relay_mutant(
        "relay-calls-results-public",
        "Everything may be kept for everybody.",
        "RLY.era.cache.kept",
        down=hinting(lambda result, _: result | PUBLIC),
    ),
    relay_mutant(
        "relay-keeps-results-for-an-hour",
        "Everything may be kept for an hour.",
        "RLY.era.cache.kept",
        down=hinting(lambda result, _: result | {"ttlMs": Number("3600000")}),
    ),
    relay_mutant(
        "relay-calls-later-pages-public",
        "Pages after the first may be kept for everybody.",
        "RLY.era.cache.pages",
        down=hinting(lambda result, is_later: result | PUBLIC if is_later else result),
    ),
    relay_mutant(
        "relay-calls-full-pages-public",
        "Pages that others follow may be kept for everybody.",
        "RLY.era.cache.pages",
        down=hinting(lambda result, _: result | PUBLIC if "nextCursor" in result else result),
    ),
    relay_mutant(
        "relay-keeps-results-for-an-hour-for-anybody",
        "Everything may be kept for an hour, and it is not said for whom.",
        "RLY.era.cache.kept",
        down=hinting(
            lambda result, _: without(result, "cacheScope") | {"ttlMs": Number("3600000")}
        ),
    ),
    relay_mutant(
        "relay-loses-scopes-of-later-pages",
        "It is not said for whom pages after the first may be kept.",
        "RLY.era.cache.pages",
        down=hinting(
            lambda result, is_later: without(result, "cacheScope") if is_later else result
        ),
    ),
)
