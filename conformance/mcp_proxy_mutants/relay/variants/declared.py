"""Variants of the relay that a target file declares: joined pages, a prefix, a filter, no news."""

from mcp_proxy_mutants.relay.changed import Around, by_message
from mcp_proxy_mutants.relay.json_text import Json
from mcp_proxy_mutants.relay.mutant import relay_variant
from mcp_proxy_mutants.relay.mutants.listed_tools import joins
from mcp_proxy_mutants.relay.places import answered, called, listed, without

PREFIX, SUFFIX = "up_", "_2"


def _prefixed() -> Around:
    """List every tool with a prefix, and call it without."""
    return by_message(
        called(lambda params: params | {"name": str(params.get("name")).removeprefix(PREFIX)}),
        listed(lambda tool: tool | {"name": f"{PREFIX}{tool['name']}"}),
    )


def _no_news(result: dict[str, Json]) -> Json:
    """Return the result of a handshake without a promise of news on tools."""
    offered = result.get("capabilities", {})
    if "tools" not in offered:
        return result
    tools = without(offered["tools"], "listChanged")
    return result | {"capabilities": offered | {"tools": tools}}


def _quiet() -> Around:
    """Promise no news of tools, and tell none."""

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        """Change the handshake; leave notifications of changed tools out."""
        if message.get("method") == "notifications/tools/list_changed":
            return None
        return answered("initialize", _no_news)(message, asked)

    return by_message(down=down)


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
        "relay-promises-no-news",
        "Changes of tools are neither promised nor told.",
        "relay-tells-of-changes",
        make=_quiet,
        no_notifications=True,
    ),
    relay_variant(
        "relay-has-no-instructions",
        "The upstream's instructions do not arrive.",
        "relay-instructions",
        "RLY.features.instructions",
        down=answered("initialize", lambda result: without(result, "instructions")),
    ),
)
