"""Relay mutants of messages to the client: progress, logs, requests, updates; cancellation, too."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.fidelity.changed import EVENTS, JSON, Around, Down, Forward, Got, Sent, Up
from mcp_proxy_mutants.fidelity.json_text import Json, Number, read, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import answered, without

PROGRESS, LOG = "notifications/progress", "notifications/message"
UPDATED, CANCELLED = "notifications/resources/updated", "notifications/cancelled"
SUBSCRIBE, SET_LEVEL = "resources/subscribe", "logging/setLevel"
AGAIN = "again"


def _down(method: str, change: Callable[[dict[str, Json]], Json]) -> Down:
    """Return a filter that changes the params of the upstream's messages of a method.

    `change` gets {} if there are none.
    """

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        del asked
        if message.get("method") != method:
            return message
        return message | {"params": change(message.get("params") or {})}

    return down


def _up(method: str, change: Callable[[dict[str, Json]], Json]) -> Up:
    """Return a filter that changes the params of a client's messages of a method.

    `change` gets {} if there are none.
    """

    def up(message: dict[str, Json]) -> Json:
        if message.get("method") != method:
            return message
        return message | {"params": change(message.get("params") or {})}

    return up


def _losing(*methods: str) -> Down:
    """Return a filter that leaves out the upstream's messages of these methods."""
    return lambda message, _: None if message.get("method") in methods else message


def _answering(method: str) -> Callable[[], Around]:
    """Return a maker of a filter that sends no client's message of a method on.

    A request is answered with an empty result, a notification with status 202.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") != method:
            return await forward(sent)
        if "id" not in message:
            return Got(status=202, headers={})
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
        return Got(status=200, headers=JSON, body=write(answer))

    return lambda: around


def _late(*, every: bool) -> Callable[[], Around]:
    """Return a maker of a filter that sends all progress of a call after its answer.

    Unless `every`, the last progress is repeated there instead.
    """

    async def moved(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        late: list[bytes] = []
        async for event in events:
            if read(event).get("method") == PROGRESS:
                late = [*late, event] if every else [event]
                if every:
                    continue
            yield event
        for event in late:
            yield event

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        if got.events is None or sent.method != "POST":
            return got
        return replace(got, events=moved(got.events))

    return lambda: around


def _answers(change: Callable[[dict[str, Json]], Json]) -> Up:
    """Return a filter that changes a client's answers to the upstream, as whole messages."""
    return lambda message: message if "method" in message else change(message)


def _broadcast() -> Around:
    """Return a filter that sends what one listening client gets to all listening clients."""
    queues: list[asyncio.Queue[bytes]] = []
    tasks: set[asyncio.Task[None]] = set()

    async def shared(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        own = asyncio.Queue[bytes]()
        queues.append(own)

        async def pump() -> None:
            async for event in events:
                for queue in queues:
                    queue.put_nowait(event)

        task = asyncio.create_task(pump())
        tasks.add(task)
        try:
            while True:
                yield await own.get()
        finally:
            task.cancel()
            queues.remove(own)

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        if sent.method != "GET" or got.events is None:
            return got
        return replace(got, events=shared(got.events))

    return around


def _deaf() -> Around:
    """Return a filter that opens no stream at the upstream for a client that listens.

    The client gets a stream without messages.
    """

    async def silence() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    async def around(sent: Sent, forward: Forward) -> Got:
        if sent.method != "GET":
            return await forward(sent)
        headers = {"content-type": EVENTS}
        return Got(status=200, headers=headers, session=sent.session, events=silence())

    return around


def _answering_twice() -> Around:
    """Return a filter that sends a cancel after each result of a client, as a second one."""

    async def around(sent: Sent, forward: Forward) -> Got:
        got, message = await forward(sent), sent.message
        if "method" not in message and isinstance(message.get("result"), dict):
            await forward(sent.saying(message | {"result": {"action": "cancel"}}))
        return got

    return around


def _asking_twice(method: str) -> Callable[[], Around]:
    """Return a maker of a filter that asks the client everything of a method twice.

    The second request has an id of its own, and its answer is kept from the upstream.
    """

    async def doubled(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for event in events:
            yield event
            message = read(event)
            if message.get("method") == method:
                yield write(message | {"id": AGAIN})

    async def around(sent: Sent, forward: Forward) -> Got:
        if "method" not in sent.message and sent.message.get("id") == AGAIN:
            return Got(status=202, headers={})
        got = await forward(sent)
        return got if got.events is None else replace(got, events=doubled(got.events))

    return lambda: around


def _declaring(*names: str) -> Up:
    """Return a filter that declares these capabilities upstream for every client."""
    more: dict[str, Any] = {name: {} for name in names}
    return _up("initialize", lambda params: params | {
        "capabilities": more | params.get("capabilities", {})
    })  # fmt: skip


def _promising_and_refusing(message: dict[str, Json]) -> Json:
    """Declare elicitation for every client, and give errors of clients another code."""
    error = message.get("error")
    if isinstance(error, dict):
        return message | {"error": error | {"code": Number("-32600")}}
    return _declaring("elicitation")(message)


MUTANTS = (
    relay_mutant(
        "relay-tells-own-tokens",
        "Progress carries one token of the relay's.",
        "RLY.back.progress.token",
        down=_down(PROGRESS, lambda params: params | {"progressToken": "relay/1"}),
    ),
    relay_mutant(
        "relay-tells-tokens-as-text",
        "Progress carries its token as text.",
        "RLY.back.progress.token",
        down=_down(
            PROGRESS, lambda params: params | {"progressToken": f"{params['progressToken']}"}
        ),
    ),
    relay_mutant(
        "relay-tells-even-progress",
        "Progress stays at one.",
        "RLY.back.progress.order",
        "RLY.back.progress.values",
        down=_down(PROGRESS, lambda params: params | {"progress": Number("1")}),
    ),
    relay_mutant(
        "relay-tells-falling-progress",
        "Progress falls.",
        "RLY.back.progress.values",
        "RLY.back.progress.order",
        down=_down(
            PROGRESS, lambda params: params | {"progress": Number(f"-{params['progress']}")}
        ),
    ),
    relay_mutant(
        "relay-tells-progress-by-turns",
        "Progress is one and nought by turns.",
        "RLY.back.progress.order",
        "RLY.back.progress.values",
        down=_down(
            PROGRESS,
            lambda params: params | {"progress": Number(f"{int(float(params['progress'])) % 2}")},
        ),
    ),
    relay_mutant(
        "relay-tells-progress-late",
        "Progress arrives after the answer.",
        "RLY.back.progress.after",
        make=_late(every=True),
    ),
    relay_mutant(
        "relay-repeats-the-last-progress",
        "The last progress arrives again after the answer.",
        "RLY.back.progress.after",
        make=_late(every=False),
    ),
    relay_mutant(
        "relay-tells-totals-of-100",
        "The total of progress is always 100.",
        "RLY.back.progress.values",
        down=_down(PROGRESS, lambda params: params | {"total": Number("100")}),
    ),
    relay_mutant(
        "relay-logs-as-info",
        "Log messages of every level arrive as information.",
        "RLY.back.log.values",
        down=_down(LOG, lambda params: params | {"level": "info"}),
    ),
    relay_mutant(
        "relay-logs-text",
        "The data of log messages arrives as text.",
        "RLY.back.log.values",
        down=_down(LOG, lambda params: params | {"data": write(params["data"]).decode()}),
    ),
    relay_mutant(
        "relay-keeps-levels",
        "Log levels are accepted and not set.",
        "RLY.features.set-level",
        make=_answering(SET_LEVEL),
    ),
    relay_mutant(
        "relay-sets-lowest-level",
        "Whatever level a client sets, the lowest is set.",
        "RLY.features.set-level",
        up=_up(SET_LEVEL, lambda params: params | {"level": "debug"}),
    ),
    relay_mutant(
        "relay-keeps-cancellations",
        "Cancellations are not sent on.",
        "RLY.back.cancel.reaches",
        make=_answering(CANCELLED),
    ),
    relay_mutant(
        "relay-cancels-a-constant-id",
        "Cancellations are sent on under the id 1.",
        "RLY.back.cancel.reaches",
        up=_up(CANCELLED, lambda params: params | {"requestId": Number("1")}),
    ),
    relay_mutant(
        "relay-declares-all-upstream",
        "Every client is declared upstream to answer every request.",
        "RLY.back.request.declared",
        "RLY.back.request.promised",
        up=_declaring("elicitation", "sampling", "roots"),
    ),
    relay_mutant(
        "relay-declares-elicitation",
        "Every client is declared upstream to be open to elicitation.",
        "RLY.back.request.declared",
        "RLY.back.request.promised",
        up=_declaring("elicitation"),
    ),
    relay_mutant(
        "relay-promises-what-it-calls-invalid",
        "Every client is declared upstream to be open to elicitation, and refusals become -32600.",
        "RLY.back.request.promised",
        up=_promising_and_refusing,
    ),
    relay_mutant(
        "relay-keeps-questions-it-promised-answers-to",
        "Requests of the upstream reach no client, as declared, and are declared upstream.",
        "RLY.back.request.promised",
        down=_losing("elicitation/create", "sampling/createMessage", "roots/list"),
        no_server_requests=True,
    ),
    relay_mutant(
        "relay-asks-without-a-schema",
        "Elicitations arrive without the requested properties.",
        "RLY.back.request.answered",
        "RLY.era.elicit.crosses",
        down=_down(
            "elicitation/create",
            lambda params: params | {"requestedSchema": {"type": "object", "properties": {}}},
        ),
    ),
    relay_mutant(
        "relay-drops-content-of-answers",
        "Answers of a client reach the upstream without their content.",
        "RLY.back.request.answered",
        up=_answers(
            lambda answer: (
                answer | {"result": without(answer["result"], "content")}
                if isinstance(answer.get("result"), dict)
                else answer
            )
        ),
    ),
    relay_mutant(
        "relay-answers-twice",
        "After a client's result the upstream gets a second one, of the same id.",
        "RLY.back.request.answered",
        "RLY.era.elicit.crosses",
        make=_answering_twice,
    ),
    relay_mutant(
        "relay-asks-twice",
        "A client is asked twice for what the upstream asks once.",
        "RLY.back.request.answered",
        "RLY.era.elicit.crosses",
        make=_asking_twice("elicitation/create"),
    ),
    relay_mutant(
        "relay-keeps-updates",
        "Updates of resources are not told.",
        "RLY.back.resource-updated",
        down=_losing(UPDATED),
    ),
    relay_mutant(
        "relay-keeps-subscriptions",
        "Subscriptions are accepted and not sent on.",
        "RLY.back.resource-updated",
        make=_answering(SUBSCRIBE),
    ),
    relay_mutant(
        "relay-keeps-updates-it-offers",
        "Updates of resources are not told, as declared, and subscriptions are offered.",
        "RLY.back.resource-updated",
        down=_losing(UPDATED),
        no_notifications=True,
    ),
    relay_mutant(
        "relay-does-not-listen",
        "A listening client gets nothing.",
        "RLY.back.resource-updated",
        make=_deaf,
    ),
    relay_mutant(
        "relay-tells-everybody",
        "What one listening client gets all get.",
        "RLY.back.over-forward.legacy",
        make=_broadcast,
    ),
    relay_mutant(
        "relay-tells-of-changes-unpromised",
        "Changes of tools are told, and not declared.",
        "RLY.back.over-forward.legacy",
        down=answered(
            "initialize",
            lambda result: result | {"capabilities": result["capabilities"] | {"tools": {}}},
        ),
    ),
    relay_mutant(
        "relay-logs-undeclared",
        "Log messages are sent, and logging is not declared.",
        "RLY.back.over-forward.legacy",
        down=answered(
            "initialize",
            lambda result: result | {"capabilities": without(result["capabilities"], "logging")},
        ),
    ),
    relay_mutant(
        "relay-subscribes-to-one",
        "Whatever a client subscribes to, the first subscription is repeated.",
        "RLY.back.over-forward.legacy",
        "RLY.back.resource-updated",
        up=_up(SUBSCRIBE, lambda params: params | {"uri": "memo://notes/1"}),
    ),
)
