"""Relay mutants that mix up clients: answers, progress, cancellations, requests of the upstream."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace

from mcp_proxy_mutants.fidelity import json_text
from mcp_proxy_mutants.fidelity.changed import Around, Forward, Got, Sent, Up
from mcp_proxy_mutants.fidelity.json_text import Json, Number, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.mutants.exchanges import is_call
from mcp_proxy_mutants.fidelity.places import without

BEYOND = 1000
WAIT_S = 0.5


def _answered_by_id() -> Around:
    """Return a filter that answers calls in progress under one id all as the first is answered."""
    running: dict[bytes, asyncio.Future[Got]] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        if not is_call(sent):
            return await forward(sent)
        key = write(sent.message["id"])
        if (first := running.get(key)) is not None:
            await forward(sent)
            return replace(await asyncio.shield(first), session=sent.session)
        running[key] = asyncio.get_running_loop().create_future()
        try:
            got = await forward(sent)
            running[key].set_result(got)
            return got
        finally:
            running[key].cancel()
            del running[key]

    return around


def _unanswered_beside() -> Around:
    """Return a filter that gives no answer to a call under the id of another one in progress."""
    running: Counter[bytes] = Counter()

    async def around(sent: Sent, forward: Forward) -> Got:
        if not is_call(sent):
            return await forward(sent)
        key = write(sent.message["id"])
        is_second = running[key] > 0
        running[key] += 1
        try:
            got = await forward(sent)
        finally:
            running[key] -= 1
        return Got(status=200, headers={}, session=got.session) if is_second else got

    return around


def _swapped() -> Around:
    """Return a filter that exchanges the answers of two clients' calls in progress at once.

    A call waits up to half a second for another one's answer, else it gets its own.
    """
    waiting: list[tuple[Sent, asyncio.Future[Got]]] = []

    async def around(sent: Sent, forward: Forward) -> Got:
        if not is_call(sent):
            return await forward(sent)
        mine: asyncio.Future[Got] = asyncio.get_running_loop().create_future()
        waiting.append((sent, mine))
        got = await forward(sent)
        others = [each for each in waiting if each[0].session != sent.session]
        waiting[:] = [each for each in waiting if each[1] is not mine]
        if not others or not got.message:
            return mine.result() if mine.done() else got
        other, theirs = others[0]
        if not theirs.done():
            theirs.set_result(
                replace(
                    got.saying(got.message | {"id": other.message["id"]}), session=other.session
                )
            )
        await asyncio.wait([mine], timeout=WAIT_S)
        return mine.result() if mine.done() else got

    return around


def _cancels(change: Callable[[Json], Json]) -> Up:
    """Return a filter that changes the request ids in a client's cancellations."""

    def up(message: dict[str, Json]) -> Json:
        params = message.get("params") or {}
        if message.get("method") != "notifications/cancelled" or "requestId" not in params:
            return message
        return message | {"params": params | {"requestId": change(params["requestId"])}}

    return up


def _another(request_id: Json) -> Json:
    """Return an id of the same type that is not this one."""
    if isinstance(request_id, Number):
        return Number(str(int(request_id) + BEYOND))
    return f"{request_id}-relay"


def _cancelling_all(*, by_end: bool) -> Around:
    """Return a filter that ends the calls of all clients when one cancels a request.

    With `by_end`, it does so when one ends its session instead. Ended calls get an error.
    """
    running: dict[int, asyncio.Task[Got]] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        method = sent.message.get("method")
        ends = sent.method == "DELETE" if by_end else method == "notifications/cancelled"
        if ends:
            for task in running.values():
                task.cancel()
        if not is_call(sent):
            return await forward(sent)
        task = asyncio.ensure_future(forward(sent))
        running[id(task)] = task
        try:
            return await task
        except asyncio.CancelledError:
            error = {"code": Number("-32800"), "message": "The request was cancelled."}
            body = write({"jsonrpc": "2.0", "id": sent.message["id"], "error": error})
            return Got(
                status=200, headers={"content-type": "application/json"}, session=sent.session,
                body=body,
            )  # fmt: skip
        finally:
            del running[id(task)]

    return around


def shared_answers(methods: tuple[str, ...], header: str = "") -> Around:
    """Return a filter that answers equal requests of these methods as the first one, of any client.

    Requests are equal if method and params are, `_meta` aside, and that header, if any.
    """
    kept: dict[bytes, Got] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") not in methods:
            return await forward(sent)
        params = without(message.get("params") or {}, "_meta")
        whose = sent.headers.get(header, "")
        key = write({"method": message["method"], "params": params, "whose": whose})
        if key not in kept:
            kept[key] = await forward(sent)
        answer = kept[key].message | {"id": message["id"]}
        return replace(kept[key].saying(answer), session=sent.session)

    return around


@dataclass(slots=True, eq=False)
class _Stream:
    """A stream of answers that is open: its client's session, and the events to be given."""

    session: str | None
    events: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)


Route = Callable[[_Stream, list[_Stream]], list[_Stream]]
"""Chooses the streams, of all that are open, on which a message that came on one is put."""


def _routed(method: str, route: Route, late_s: float = 0.0) -> Around:
    """Return a filter that puts messages of a method on the streams that `route` chooses.

    It is called with the stream on which a message came, and all that are open; on others than
    that stream a message is put so many seconds later.
    """
    streams: list[_Stream] = []

    async def mixed(session: str | None, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        own = _Stream(session)
        streams.append(own)

        async def pump() -> None:
            async for event in events:
                is_routed = json_text.read(event).get("method") == method
                for stream in route(own, streams) if is_routed else [own]:
                    if late_s and stream is not own:
                        loop = asyncio.get_running_loop()
                        loop.call_later(late_s, stream.events.put_nowait, event)
                    else:
                        stream.events.put_nowait(event)

        task = asyncio.create_task(pump())
        task.add_done_callback(lambda _: own.events.put_nowait(b""))
        try:
            while event := await own.events.get():
                yield event
        finally:
            task.cancel()
            streams.remove(own)

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        if got.events is None:
            return got
        return replace(got, events=mixed(sent.session, got.events))

    return around


def misrouted(method: str, *, both: bool, late_s: float = 0.0) -> Around:
    """Return a filter that puts messages of a method on the streams of the other clients.

    With `both`, they stay on their own stream too; on the others they are so many seconds late.
    Without another client nothing is changed.
    """

    def route(own: _Stream, streams: list[_Stream]) -> list[_Stream]:
        others = [stream for stream in streams if stream.session != own.session]
        return [*others, *([own] if both else [])] if others else [own]

    return _routed(method, route, late_s)


def _doubled(method: str) -> Around:
    """Return a filter that puts messages of a method on all streams of their client."""
    return _routed(
        method,
        lambda own, streams: [stream for stream in streams if stream.session == own.session],
    )


MUTANTS = (
    relay_mutant(
        "relay-answers-by-id",
        "Of calls in progress under one id all get the first one's answer.",
        "RLY.apart.answers",
        make=_answered_by_id,
    ),
    relay_mutant(
        "relay-answers-one-of-an-id",
        "Of calls in progress under one id only the first is answered.",
        "RLY.apart.answers",
        make=_unanswered_beside,
    ),
    relay_mutant(
        "relay-swaps-answers",
        "Two clients that call at once get each other's answers.",
        "RLY.apart.answers",
        make=_swapped,
    ),
    relay_mutant(
        "relay-tells-all-of-progress",
        "Progress reaches all clients that wait for an answer.",
        "RLY.apart.progress",
        make=lambda: misrouted("notifications/progress", both=True),
    ),
    relay_mutant(
        "relay-tells-another-of-progress",
        "Progress reaches the other clients only.",
        "RLY.apart.progress",
        make=lambda: misrouted("notifications/progress", both=False),
    ),
    relay_mutant(
        "relay-tells-all-of-progress-late",
        "Progress reaches the other clients that wait for an answer 0.05 s later.",
        "RLY.apart.progress",
        make=lambda: misrouted("notifications/progress", both=True, late_s=0.05),
    ),
    relay_mutant(
        "relay-cancels-other-ids",
        "A cancellation names an id that was never used.",
        "RLY.apart.cancel.reference",
        up=_cancels(_another),
    ),
    relay_mutant(
        "relay-cancels-by-text",
        "A cancellation names the request's id as a text.",
        "RLY.apart.cancel.reference",
        up=_cancels(
            lambda request_id: (
                str(request_id) if isinstance(request_id, Number) else f'"{request_id}"'
            )
        ),
    ),
    relay_mutant(
        "relay-cancels-all",
        "A cancellation ends the calls of all clients.",
        "RLY.apart.cancel.other",
        make=lambda: _cancelling_all(by_end=False),
    ),
    relay_mutant(
        "relay-ends-all",
        "A client that ends its session ends the calls of all clients.",
        "RLY.apart.cancel.other",
        make=lambda: _cancelling_all(by_end=True),
    ),
    relay_mutant(
        "relay-elicits-from-another",
        "An elicitation is put to the other clients.",
        "RLY.apart.requests.elicit",
        make=lambda: misrouted("elicitation/create", both=False),
    ),
    relay_mutant(
        "relay-elicits-from-all",
        "An elicitation is put to all clients.",
        "RLY.apart.requests.elicit",
        make=lambda: misrouted("elicitation/create", both=True),
    ),
    relay_mutant(
        "relay-samples-from-another",
        "A request for a completion is put to the other clients.",
        "RLY.apart.requests.other",
        make=lambda: misrouted("sampling/createMessage", both=False),
    ),
    relay_mutant(
        "relay-asks-another-for-roots",
        "A request for roots is put to the other clients.",
        "RLY.apart.requests.other",
        make=lambda: misrouted("roots/list", both=False),
    ),
    relay_mutant(
        "relay-logs-on-all-streams",
        "A log message goes out on all streams of its client.",
        "RLY.apart.session.broadcast",
        make=lambda: _doubled("notifications/message"),
    ),
    relay_mutant(
        "relay-tells-of-changes-on-all-streams",
        "A change goes out on all streams of its client.",
        "RLY.apart.session.broadcast",
        make=lambda: _doubled("notifications/tools/list_changed"),
    ),
)
