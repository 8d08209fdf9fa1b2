"""Relay variants for clients of 2026-07-28: refused, served by streams, own codes, no logs."""

from dataclasses import replace

from mcp_proxy_mutants.fidelity.changed import EVENTS, JSON, Around, Forward, Got, Sent, by_message
from mcp_proxy_mutants.fidelity.in_front import in_front
from mcp_proxy_mutants.fidelity.json_text import Json, Number, plain, write
from mcp_proxy_mutants.fidelity.mutant import relay_variant
from mcp_proxy_mutants.fidelity.mutants.eras import LISTEN, each
from mcp_proxy_mutants.fidelity.places import answered, failed

KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def _older_alone() -> Around:
    """Return a filter that refuses every message of 2026-07-28, as servers before it do."""

    async def around(sent: Sent, forward: Forward) -> Got:
        del sent, forward
        error = {"code": Number("-32600"), "message": "Bad Request: no session"}
        answer = {"jsonrpc": "2.0", "id": None, "error": error}
        return Got(status=400, headers=JSON, body=write(answer))

    return around


def _streamed() -> Around:
    """Return a filter that answers by a stream, errors too."""

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        if got.events is not None or not got.message or got.status == 400:  # noqa: PLR2004
            return got
        return Got(status=200, headers={"content-type": EVENTS}, events=each(got.body))

    return around


def _silent_refusals() -> Around:
    """Return a filter that refuses headers that do not fit by a status alone."""

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        code = plain((got.message.get("error") or {}).get("code"))
        return replace(got, body=b"", headers={}) if code == -32020 else got  # noqa: PLR2004

    return around


def _reversed() -> Around:
    """Return a filter that lists tools in the other order every second time."""
    lists = [0]

    def turned(result: dict[str, Json]) -> Json:
        lists[0] += 1
        return result | {"tools": result["tools"][:: (-1) ** lists[0]]}

    return by_message(down=answered("tools/list", turned))


def _agrees_to_nothing(message: dict[str, Json]) -> Json:
    """Return a subscription that asks for nothing; any other message as it is."""
    if message.get("method") != LISTEN:
        return message
    return message | {"params": message["params"] | {"notifications": {}}}


def _working_on() -> Around:
    """Return a filter that does not tell the relay of cancelled calls."""

    async def around(sent: Sent, forward: Forward) -> Got:
        return await forward(replace(sent, deaf=sent.message.get("method") == "tools/call"))

    return around


def _known_handshakes() -> Around:
    """Return a filter that refuses a handshake of an unknown version."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        version = (message.get("params") or {}).get("protocolVersion")
        if message.get("method") != "initialize" or version in KNOWN:
            return await forward(sent)
        error = {"code": Number("-32602"), "message": "Unsupported protocol version"}
        answer = {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return Got(status=200, headers=JSON, body=write(answer))

    return around


VARIANTS = (
    relay_variant(
        "relay-serves-older-clients-alone",
        "Messages of 2026-07-28 are refused.",
        "relay-serves-an-era",
        front=in_front(make=_older_alone),
    ),
    relay_variant(
        "relay-answers-by-streams",
        "Every answer to a client of 2026-07-28 is a stream, an unknown method's too.",
        "relay-errors-in-streams",
        front=in_front(make=_streamed),
    ),
    relay_variant(
        "relay-refuses-headers-by-a-status",
        "Headers that do not fit are refused by 400 alone.",
        "relay-headers-without-a-message",
        front=in_front(make=_silent_refusals),
    ),
    relay_variant(
        "relay-has-codes-of-its-own",
        "Errors of calls by clients of 2026-07-28 have a code of the relay's own.",
        "relay-replaces-codes",
        front=in_front(down=failed(lambda error: error | {"code": Number("1001")})),
    ),
    relay_variant(
        "relay-lists-in-any-order",
        "Tools come in the other order every second time.",
        "relay-orders-tools",
        front=in_front(make=_reversed),
    ),
    relay_variant(
        "relay-agrees-to-no-news",
        "Subscriptions are acknowledged without any notification.",
        "relay-subscribes-in-part",
        front=in_front(up=_agrees_to_nothing),
    ),
    relay_variant(
        "relay-leaves-logs-out",
        "No log message reaches a client of 2026-07-28.",
        "relay-changes-news",
        front=in_front(
            down=lambda message, _: (
                None if message.get("method") == "notifications/message" else message
            )
        ),
    ),
    relay_variant(
        "relay-works-on-when-cancelled",
        "A call whose client has gone is finished, and nobody hears of it.",
        "relay-works-on",
        front=in_front(make=_working_on),
    ),
    relay_variant(
        "relay-refuses-unknown-handshakes",
        "A handshake of an unknown version is refused.",
        "relay-refuses-handshakes",
        make=_known_handshakes,
    ),
)
