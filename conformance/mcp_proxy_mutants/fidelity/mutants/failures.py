"""Relay mutants that report success, or an empty list, where the upstream failed or refused."""

from collections.abc import Callable

from mcp_proxy_mutants.fidelity.changed import JSON, Around, Forward, Got, Sent
from mcp_proxy_mutants.fidelity.json_text import Json, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_relay_reference.remote import Unreachable

BAD = 400
Invent = Callable[[Got | None], Json]


def _glossing(method: str, invent: Invent, *, refusals: bool, losses: bool) -> Around:
    """Return a filter that answers a method with an invented result where the upstream fails.

    `refusals` are answers with an HTTP status of errors, `losses` are lost or broken answers.
    `invent` is called with the answer, None without one, and returns the result.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") != method:
            return await forward(sent)
        got: Got | None = None
        try:
            got = await forward(sent)
            refused = got.status >= BAD
            failed = refused if refusals else False
            lost = not refused and got.events is None and not got.message
        except Unreachable as error:
            refused = "refused" in str(error)
            failed, lost = refusals and refused, not refused
        if got is not None and not failed and not (losses and lost):
            return got
        if not failed and not (losses and lost):
            raise Unreachable("The upstream server does not answer.")
        body = write({"jsonrpc": "2.0", "id": message["id"], "result": invent(got)})
        return Got(status=200, headers=JSON, session=sent.session, body=body)

    return around


def _failing_pages() -> Around:
    """Return a filter that ends a list of tools at a page that fails, as if it were the end."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        paged = message.get("method") == "tools/list" and (message.get("params") or {}).get(
            "cursor"
        )
        got = await forward(sent)
        if not paged or "result" in got.message:
            return got
        return got.saying({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}})

    return around


def _nothing(_: Got | None) -> Json:
    """Return a result without content."""
    return {"content": []}


def _page(got: Got | None) -> Json:
    """Return a result with the body of the answer as its text, empty without an answer."""
    text = got.body.decode("utf-8", "replace") if got is not None else ""
    return {"content": [{"type": "text", "text": text}]}


MUTANTS = (
    relay_mutant(
        "relay-answers-nothing",
        "A call whose answer is lost has a result without content.",
        "RLY.down.no-empty-success.call",
        make=lambda: _glossing("tools/call", _nothing, refusals=False, losses=True),
    ),
    relay_mutant(
        "relay-answers-null",
        "A call whose answer is lost has the result `null`.",
        "RLY.down.no-empty-success.call",
        make=lambda: _glossing(
            "tools/call",
            lambda _: {"content": [{"type": "text", "text": "null"}], "isError": False},
            refusals=False,
            losses=True,
        ),
    ),
    relay_mutant(
        "relay-shows-pages-of-refusals",
        "The body of a refusal is the text of a result.",
        "RLY.down.no-empty-success.refused",
        make=lambda: _glossing("tools/call", _page, refusals=True, losses=False),
    ),
    relay_mutant(
        "relay-overlooks-refusals",
        "A call that is refused has a result without content.",
        "RLY.down.no-empty-success.refused",
        make=lambda: _glossing("tools/call", _nothing, refusals=True, losses=False),
    ),
    relay_mutant(
        "relay-lists-nothing",
        "The list of an upstream that fails is empty.",
        "RLY.down.no-empty-success.list",
        make=lambda: _glossing("tools/list", lambda _: {"tools": []}, refusals=True, losses=True),
    ),
    relay_mutant(
        "relay-ends-at-a-failing-page",
        "A list ends at a page that fails.",
        "RLY.down.no-empty-success.list",
        make=_failing_pages,
    ),
)
