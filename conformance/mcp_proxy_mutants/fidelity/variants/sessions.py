"""Relay variants of sessions: tokens, HTTP+SSE, resumed streams, ends, cursors, cached reads."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from mcp_proxy_mutants.fidelity.changed import Around, Forward, Got, Sent
from mcp_proxy_mutants.fidelity.fronts import Counting, Endless, Numbered, Resuming
from mcp_proxy_mutants.fidelity.json_text import Json, write
from mcp_proxy_mutants.fidelity.mutant import relay_variant
from mcp_proxy_mutants.fidelity.mutants.clients import shared_answers
from mcp_proxy_mutants.fidelity.mutants.credentials import forwards_credentials
from mcp_proxy_mutants.fidelity.mutants.sessions import FORWARDING, USERS, guarded
from mcp_proxy_mutants.fidelity.over_sse import OverSse
from mcp_relay_reference.remote import Unreachable

WAITS_S = 40.0


def _own(sent: Sequence[Numbered], last: int, session: str) -> Sequence[Numbered]:
    stream = sent[last].stream
    later = [each for each in sent[last + 1 :] if each.stream == stream]
    return later if sent[last].session == session else []


def _asked_by_giver() -> Around:
    """Return a filter that gives cursors of its own, each of which stands for a session, too."""
    given: dict[str, tuple[str | None, Json]] = {}

    async def around(sent: Sent, forward: Forward) -> Got:
        message, own = sent.message, sent.session
        if message.get("method") != "tools/list":
            return await forward(sent)
        params = message.get("params") or {}
        if params.get("cursor") in given:
            own, cursor = given[params["cursor"]]
            sent = sent.saying(message | {"params": params | {"cursor": cursor}})
        got = await forward(replace(sent, session=own))
        result = got.message.get("result")
        if not isinstance(result, dict) or "nextCursor" not in result:
            return got
        name = f"given-{len(given)}"
        given[name] = own, result["nextCursor"]
        return got.saying(got.message | {"result": result | {"nextCursor": name}})

    return around


def _fetched_ahead() -> Around:
    """Return a filter that fetches each next page ahead, and gives it to whoever has its cursor."""
    pages: dict[str, Json] = {}
    numbers = count(1)

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        cursor = (message.get("params") or {}).get("cursor")
        if message.get("method") != "tools/list":
            return await forward(sent)
        if cursor in pages:
            body = write({"jsonrpc": "2.0", "id": message["id"], "result": pages[cursor]})
            return Got(status=200, headers={"content-type": "application/json"}, body=body)
        got = await forward(sent)
        result = got.message.get("result")
        if not isinstance(result, dict):
            return got
        await _fetch(sent, forward, result)
        return got.saying(got.message | {"result": result})

    async def _fetch(sent: Sent, forward: Forward, result: dict[str, Json]) -> None:
        if "nextCursor" not in result:
            return
        params = {"cursor": result["nextCursor"]}
        following = await forward(sent.saying(sent.message | {"params": params}))
        page = following.message["result"]
        result["nextCursor"] = f"ahead-{next(numbers)}"
        pages[result["nextCursor"]] = page
        await _fetch(sent, forward, page)

    return around


def _patient() -> Around:
    """Return a filter that waits on for the answer to a call that the upstream was working on."""

    async def around(sent: Sent, forward: Forward) -> Got:
        try:
            return await forward(sent)
        except Unreachable:
            if b'"working"' in sent.body:
                await asyncio.sleep(WAITS_S)
            raise

    return around


def _showing_and_keeping() -> Around:
    """Return a filter that sends the client's token on, and keeps what each client has read."""
    kept, shown = shared_answers(("resources/read",), "authorization"), forwards_credentials()

    async def around(sent: Sent, forward: Forward) -> Got:
        return await kept(sent, lambda each: shown(each, forward))

    return around


VARIANTS = (
    relay_variant(
        "relay-counts-sessions",
        "The ids of sessions are numbers, whose digits are in the ids of the upstream's.",
        "relay-forwards-tokens",
        front=Counting,
    ),
    relay_variant(
        "relay-serves-two-users",
        "Clients need a token, and have sessions of their own.",
        "relay-without-authorization",
        front=guarded,
        clients=USERS,
    ),
    relay_variant(
        "relay-keeps-reads-of-each",
        "What a client has read is kept for it; the upstream is shown who asks.",
        "relay-caches",
        make=_showing_and_keeping,
        front=guarded,
        **FORWARDING,
    ),
    relay_variant(
        "relay-resumes-streams",
        "A client may resume a stream of its own.",
        "relay-resumes",
        front=lambda remote: Resuming(remote, _own),
    ),
    relay_variant(
        "relay-serves-ended-sessions",
        "A session goes on after its client has ended it.",
        "relay-without-authorization",
        "RLY.apart.session.unknown",
        front=Endless,
    ),
    relay_variant(
        "relay-asks-by-whose-cursor",
        "A page is asked for in the session in which its cursor was given.",
        "relay-without-authorization",
        "RLY.apart.session.cursor",
        make=_asked_by_giver,
    ),
    relay_variant(
        "relay-fetches-pages-ahead",
        "Later pages are kept, and given to whoever has the cursor.",
        "relay-without-authorization",
        "RLY.apart.session.cursor",
        make=_fetched_ahead,
    ),
    relay_variant(
        "relay-serves-sse",
        "Clients are served over HTTP+SSE, with a token; each is greeted by a log message.",
        "relay-serves-sse",
        front=lambda remote: OverSse(remote, guarded),
        transport="sse",
        clients=USERS,
    ),
    relay_variant(
        "relay-waits-for-the-dead",
        "A call that an upstream was working on when it ended is waited for.",
        "relay-waiting",
        "RLY.down.no-empty-success.silence",
        make=_patient,
    ),
)
