"""Relay mutants of requests to the upstream: ids, progress tokens, repeated calls, sessions."""

import asyncio
from collections import Counter
from dataclasses import replace

from mcp_proxy_mutants.fidelity.changed import JSON, Around, Forward, Got, Sent, Up
from mcp_proxy_mutants.fidelity.json_text import Json, Number, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_relay_reference.remote import Unreachable

SLOW_S = 0.3
NOT_FOUND = 404
Key = tuple[object, ...]


def is_call(sent: Sent) -> bool:
    """Whether a request is a call of a tool."""
    return sent.message.get("method") == "tools/call"


def _as_first(sent: Sent, got: Got) -> Got:
    """Return the answer `got`, that of another request, as the answer to `sent`: with its id."""
    return replace(got.saying(got.message | {"id": sent.message["id"]}), session=sent.session)


def _what(sent: Sent) -> bytes:
    """Return a call's tool and arguments as JSON text, to compare it with others."""
    params = sent.message.get("params") or {}
    return write({"name": params.get("name"), "arguments": params.get("arguments")})


def _one_id() -> Around:
    """Return a filter that gives requests the id 1 on the way up, and their own on the way down."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if "id" not in message or "method" not in message:
            return await forward(sent)
        got = await forward(sent.saying(message | {"id": Number("1")}))
        return got.saying(got.message | {"id": message["id"]}) if got.message else got

    return around


def shared_session() -> Around:
    """Return a filter that uses the first client's upstream session for all, under their own ids.

    No session is ended upstream.
    """
    first: list[str] = []

    async def around(sent: Sent, forward: Forward) -> Got:
        if sent.method == "DELETE":
            return Got(status=200, headers={})
        if sent.message.get("method") == "initialize":
            got = await forward(sent)
            if got.session is not None and not first:
                first.append(got.session)
            return got
        session = first[0] if first else sent.session
        return replace(await forward(replace(sent, session=session)), session=sent.session)

    return around


def _tokens(token: Json) -> Up:
    """Return a filter that gives every request with a progress token this one."""

    def up(message: dict[str, Json]) -> Json:
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        if "progressToken" not in meta:
            return message
        return message | {"params": params | {"_meta": meta | {"progressToken": token}}}

    return up


def _sharing(up: Up) -> Around:
    """Return a filter that shares the first session, and changes messages on the way up by `up`."""
    shared = shared_session()

    async def around(sent: Sent, forward: Forward) -> Got:
        return await shared(sent.saying(up(sent.message)) if sent.message else sent, forward)

    return around


def _twice(*, at_once: bool) -> Around:
    """Return a filter that sends every call twice, one after the other or `at_once`.

    The answer to the call under its own id counts.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        if not is_call(sent):
            return await forward(sent)
        again = sent.saying(sent.message | {"id": "again"})
        if at_once:
            _, got = await asyncio.gather(forward(again), forward(sent))
            return got
        await forward(again)
        return await forward(sent)

    return around


def _once_more(*, given: bool) -> Around:
    """Return a filter that sends calls of every tool but `count` again, without arguments.

    They are those with arguments if `given`, else those without.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        got, params = await forward(sent), sent.message.get("params") or {}
        if (
            is_call(sent)
            and params.get("name") != "count"
            and bool(params.get("arguments")) == given
        ):
            again = {"id": f"{sent.message['id']} again", "params": params | {"arguments": {}}}
            await forward(sent.saying(sent.message | again))
        return got

    return around


def _kept_answers() -> Around:
    """Return a filter that answers a call like the first equal one, of whatever client."""
    kept: dict[bytes, Got] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        if not is_call(sent):
            return await forward(sent)
        key = _what(sent)
        if key not in kept:
            kept[key] = await forward(sent)
        return _as_first(sent, kept[key])

    return around


def _joined_calls() -> Around:
    """Return a filter that sends one of the equal calls of a session, and answers all by it.

    Those count that come while it is in progress or up to 0.3 s later.
    """
    running: dict[Key, asyncio.Future[Got]] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        if not is_call(sent):
            return await forward(sent)
        key = (sent.session, _what(sent))
        if key in running:
            return _as_first(sent, await asyncio.shield(running[key]))
        running[key] = asyncio.get_running_loop().create_future()
        got = await forward(sent)
        running[key].set_result(got)
        asyncio.get_running_loop().call_later(SLOW_S, running.pop, key, None)
        return got

    return around


def _impatient(*, cancels: bool) -> Around:
    """Return a filter that sends a call again that is not answered within 0.3 s.

    The first answer counts; with `cancels`, the first call is given up.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        if not is_call(sent):
            return await forward(sent)
        first = asyncio.ensure_future(forward(sent))
        await asyncio.wait([first], timeout=SLOW_S)
        if first.done():
            return first.result()
        again = asyncio.ensure_future(forward(sent.saying(sent.message | {"id": "again"})))
        if cancels:
            first.cancel()
            return _as_first(sent, await again)
        done, _ = await asyncio.wait([first, again], return_when=asyncio.FIRST_COMPLETED)
        return _as_first(sent, done.pop().result())

    return around


def _persistent(most: int) -> Around:
    """Return a filter that sends a call again, up to `most` times, while its connection breaks."""

    async def around(sent: Sent, forward: Forward) -> Got:
        for _ in range(most if is_call(sent) else 0):
            try:
                got = await forward(sent)
                if got.message:
                    return got
            except Unreachable:
                continue
        return await forward(sent)

    return around


async def _new_session(sent: Sent, forward: Forward, opening: Sent) -> str | None:
    """Begin a session of the upstream by the earlier handshake `opening`; return its id.

    `sent` is the request that needs it; None is returned if the upstream gives no id.
    """
    got = await forward(replace(opening, session=None))
    ready = replace(sent, session=got.session).saying(
        {"jsonrpc": "2.0", "method": "notifications/initialized"}
    )
    await forward(ready)
    return got.session


def _renewing(calls: int) -> Around:
    """Return a filter that renews a session upon a 404, and sends the call anew `calls` times.

    With 0 the call is answered with an empty result instead.
    """
    opening: list[Sent] = []
    renewed: dict[str | None, str | None] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        if sent.message.get("method") == "initialize":
            opening[:] = [sent]
            return await forward(sent)
        own = sent.session
        sent = replace(sent, session=renewed.get(own, own))
        got = await forward(sent)
        if got.status != NOT_FOUND or not opening or not is_call(sent):
            return got
        session = await _new_session(sent, forward, opening[0])
        renewed[own] = session
        for number in range(calls):
            one = replace(sent, session=session)
            got = await forward(one.saying(sent.message | {"id": f"again-{number}"}))
        if not calls:
            done = {"jsonrpc": "2.0", "id": sent.message["id"], "result": {"content": []}}
            return Got(status=200, headers=JSON, session=sent.session, body=write(done))
        return _as_first(sent, got)

    return around


def _unaware() -> Around:
    """Return a filter that answers a 404 as a JSON-RPC error, so that nobody renews the session."""

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        if got.status != NOT_FOUND or "id" not in sent.message:
            return got
        error = {"code": Number("-32603"), "message": "The upstream does not answer."}
        body = write({"jsonrpc": "2.0", "id": sent.message["id"], "error": error})
        return Got(status=200, headers=JSON, session=sent.session, body=body)

    return around


def _stubborn() -> Around:
    """Return a filter that uses the first session of all, once a 404 came, for all that follows."""
    first: list[str] = []
    refused: Counter[str] = Counter()

    async def around(sent: Sent, forward: Forward) -> Got:
        if sent.message.get("method") != "initialize" and refused:
            return replace(await forward(replace(sent, session=first[0])), session=sent.session)
        got = await forward(sent)
        if got.session is not None and not first:
            first.append(got.session)
        if got.status == NOT_FOUND and first:
            refused[first[0]] += 1
        return got

    return around


MUTANTS = (
    relay_mutant(
        "relay-has-one-id", "Every request goes up under the id 1.", "RLY.up.ids", make=_one_id
    ),
    relay_mutant(
        "relay-shares-a-session",
        "All clients share one session upstream, with their own ids.",
        "RLY.up.ids",
        make=shared_session,
    ),
    relay_mutant(
        "relay-has-one-token",
        "All clients share one session upstream, with one progress token.",
        "RLY.up.meta.progress-token",
        make=lambda: _sharing(_tokens("relay")),
    ),
    relay_mutant(
        "relay-has-broken-tokens",
        "Every progress token goes up as 1.5.",
        "RLY.up.meta.progress-token",
        up=_tokens(Number("1.5")),
    ),
    relay_mutant(
        "relay-calls-twice",
        "Every call is sent twice, one after the other.",
        "RLY.up.once.quiet",
        make=lambda: _twice(at_once=False),
    ),
    relay_mutant(
        "relay-calls-twice-at-once",
        "Every call is sent twice at once.",
        "RLY.up.once.quiet",
        make=lambda: _twice(at_once=True),
    ),
    relay_mutant(
        "relay-calls-some-twice",
        "Every call without arguments, but of the tool `count`, is sent twice.",
        "RLY.up.once.quiet",
        make=lambda: _once_more(given=False),
    ),
    relay_mutant(
        "relay-calls-again-without-arguments",
        "After a call with arguments, of every tool but `count`, one without is sent.",
        "RLY.up.arguments.text",
        make=lambda: _once_more(given=True),
    ),
    relay_mutant(
        "relay-keeps-answers",
        "A call that equals an earlier one is answered as that was.",
        "RLY.up.once.equal",
        make=_kept_answers,
    ),
    relay_mutant(
        "relay-joins-calls",
        "Equal calls in quick succession are executed once.",
        "RLY.up.once.equal",
        make=_joined_calls,
    ),
    relay_mutant(
        "relay-is-impatient",
        "A call is sent again if it is not answered within 0.3 s.",
        "RLY.up.once.slow",
        make=lambda: _impatient(cancels=False),
    ),
    relay_mutant(
        "relay-gives-up-and-repeats",
        "A call is given up after 0.3 s, and sent again.",
        "RLY.up.once.slow",
        make=lambda: _impatient(cancels=True),
    ),
    relay_mutant(
        "relay-repeats-broken-calls",
        "A call is sent again if its connection breaks.",
        "RLY.up.once.dropped",
        make=lambda: _persistent(1),
    ),
    relay_mutant(
        "relay-insists",
        "A call is sent up to four times while its connection breaks.",
        "RLY.up.once.dropped",
        make=lambda: _persistent(3),
    ),
    relay_mutant(
        "relay-renews-and-calls-twice",
        "After 404 a session is renewed, and its call sent twice.",
        "RLY.up.once.stale",
        make=lambda: _renewing(2),
    ),
    relay_mutant(
        "relay-renews-and-forgets",
        "After 404 a session is renewed, and its call told as done.",
        "RLY.up.once.stale",
        "RLY.down.no-empty-success.call",
        make=lambda: _renewing(0),
    ),
    relay_mutant(
        "relay-keeps-ended-sessions",
        "A 404 is told as an error of the call; nothing is renewed.",
        "RLY.up.once.new-session",
        make=_unaware,
    ),
    relay_mutant(
        "relay-is-stubborn",
        "After a 404 the first session is used for all that follows.",
        "RLY.up.once.new-session",
        make=_stubborn,
    ),
)
