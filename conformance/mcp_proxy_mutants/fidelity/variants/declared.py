"""Relay variants that their target file declares: joined pages, a prefix, filtered tools."""

from mcp_proxy_mutants.fidelity.changed import Around, by_message
from mcp_proxy_mutants.fidelity.json_text import Json, Number
from mcp_proxy_mutants.fidelity.mutant import relay_variant
from mcp_proxy_mutants.fidelity.mutants.credentials import forwards_credentials
from mcp_proxy_mutants.fidelity.mutants.filters import FILTERED, filtering
from mcp_proxy_mutants.fidelity.mutants.listed_tools import joins
from mcp_proxy_mutants.fidelity.places import answered, called, listed, without
from mcp_proxy_mutants.fidelity.signing_in import Registering, Returning, signing_in

PREFIX, SUFFIX = "up_", "_2"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def _prefixed() -> Around:
    return by_message(
        called(lambda params: params | {"name": str(params.get("name")).removeprefix(PREFIX)}),
        listed(lambda tool: tool | {"name": f"{PREFIX}{tool['name']}"}),
    )


def _no_news(result: dict[str, Json]) -> Json:
    offered = result.get("capabilities", {})
    if "tools" not in offered:
        return result
    tools = without(offered["tools"], "listChanged")
    return result | {"capabilities": offered | {"tools": tools}}


def _quiet() -> Around:
    """Return a filter that promises no notifications of changed tools, and leaves them out."""

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        if message.get("method") == "notifications/tools/list_changed":
            return None
        if message.get("method") == "notifications/subscriptions/acknowledged":
            params = message["params"]
            agreed = without(params["notifications"], "toolsListChanged")
            return message | {"params": params | {"notifications": agreed}}
        return answered("server/discover", _no_news)(
            answered("initialize", _no_news)(message, asked), asked
        )

    return by_message(down=down)


def _promise_nothing(result: dict[str, Json]) -> Json:
    offered = {
        name: without(offer, "listChanged", "subscribe")
        for name, offer in result.get("capabilities", {}).items()
        if name != "logging"
    }
    return result | {"capabilities": offered}


def _silent() -> Around:
    """Return a filter that promises no notifications and leaves them out.

    Log levels and subscriptions, which would bring some, are refused.
    """

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        if "method" in message and "id" not in message:
            return None
        if asked.get("method") in ("logging/setLevel", "resources/subscribe"):
            error = {"code": Number("-32601"), "message": "Method not found"}
            return without(message, "result") | {"error": error}
        return answered("initialize", _promise_nothing)(message, asked)

    return by_message(down=down)


def _declaring_nothing(message: dict[str, Json]) -> Json:
    params = message.get("params") or {}
    if message.get("method") == "initialize":
        return message | {"params": params | {"capabilities": {}}}
    if CAPABILITIES not in params.get("_meta", {}):
        return message
    return message | {"params": params | {"_meta": params["_meta"] | {CAPABILITIES: {}}}}


def _own_fault(message: dict[str, Json], _: dict[str, Json]) -> Json:
    """Return a message; an error for want of a capability is an internal one."""
    error = message.get("error") or {}
    if error.get("code") != Number("-32021"):
        return message
    return message | {"error": without(error, "data") | {"code": Number("-32603")}}


VARIANTS = (
    relay_variant(
        "relay-joins-pages",
        "All pages are one.",
        "relay-pages",
        "RLY.tools.paging.bad-cursor",
        make=lambda: joins(lambda page: "nextCursor" in page),
        pages_joined=True,
    ),
    relay_variant(
        "relay-has-a-prefix",
        "Tools are listed and called with a prefix.",
        "relay-leaves-tools-out",
        make=_prefixed,
        prefix=PREFIX,
    ),
    relay_variant(
        "relay-filters-tools",
        "Tools are neither listed nor called, as is declared.",
        "relay-leaves-tools-out",
        make=filtering,
        filters=FILTERED,
    ),
    relay_variant(
        "relay-forwards-by-declaration",
        "The client's Authorization and cookies reach the upstream, as is declared.",
        "relay-forwards-tokens",
        make=forwards_credentials,
        forwards=["authorization", "cookie"],
    ),
    relay_variant(
        "relay-promises-no-news",
        "Changes of tools are neither promised nor told.",
        "relay-tells-of-changes",
        make=_quiet,
        no_notifications=True,
    ),
    relay_variant(
        "relay-tells-nothing",
        "No notification is promised or told.",
        "relay-tells-of-changes",
        make=_silent,
        no_notifications=True,
    ),
    relay_variant(
        "relay-asks-no-client",
        "The upstream is promised no answers, and asks for none.",
        "relay-asks-clients",
        "relay-answers-for-its-request",
        up=_declaring_nothing,
        down=_own_fault,
        no_server_requests=True,
    ),
    relay_variant(
        "relay-has-no-instructions",
        "The upstream's instructions do not arrive.",
        "relay-instructions",
        "RLY.features.instructions",
        down=answered("initialize", lambda result: without(result, "instructions")),
    ),
    relay_variant(
        "relay-signs-in-by-a-page",
        "A user visits a page for the upstream's token, which the relay keeps.",
        "relay-signs-in",
        remote=signing_in(),
        front=Returning,
    ),
    relay_variant(
        "relay-signs-in-as-itself",
        "The relay registers itself for the upstream's token, which it keeps.",
        "relay-signs-in",
        remote=signing_in(Registering),
    ),
)
