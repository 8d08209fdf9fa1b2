"""Relay mutants of features beside tools: resources, prompts, completions, pings, capabilities."""

from collections.abc import Callable, Sequence

from mcp_proxy_mutants.fidelity.changed import JSON, Around, Down, Forward, Got, Sent, Up
from mcp_proxy_mutants.fidelity.json_text import Json, Number, mapped, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import answered, is_text, without


def _answering(method: str, result: Json) -> Callable[[], Around]:
    """Return a maker of a filter that answers requests of a method by itself.

    `result` has the answer's member `result` or `error`.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") != method or "id" not in message:
            return await forward(sent)
        answer = {"jsonrpc": "2.0", "id": message["id"], **result}
        return Got(status=200, headers=JSON, body=write(answer))

    return lambda: around


def _declaring(change: Callable[[dict[str, Json]], Json]) -> Down:
    """Return a filter that changes the capabilities that the upstream declares in a handshake."""
    return answered("initialize", lambda result: result | {
        "capabilities": change(result.get("capabilities", {}))
    })  # fmt: skip


def _each(method: str, name: str, change: Callable[[Sequence[Json]], Json]) -> Down:
    """Return a filter that changes the list `name` in results of a method, as a whole."""
    return answered(
        method, lambda result: result | {name: change(result[name])} if name in result else result
    )


def _asking(method: str, change: Callable[[dict[str, Json]], Json]) -> Up:
    """Return a filter that changes the params, {} without any, of requests of a method."""

    def up(message: dict[str, Json]) -> Json:
        if message.get("method") != method:
            return message
        return message | {"params": change(message.get("params") or {})}

    return up


def _ascii(value: Json) -> Json:
    """Return a value whose texts have lost all characters beyond ASCII."""
    return mapped(
        value, lambda each: each.encode("ascii", "ignore").decode() if is_text(each) else each
    )


MUTANTS = (
    relay_mutant(
        "relay-answers-undeclared-lists",
        "Resources are listed as none where the upstream has no resources.",
        "RLY.features.declared",
        make=_answering("resources/list", {"result": {"resources": []}}),
    ),
    relay_mutant(
        "relay-accepts-undeclared-levels",
        "Log levels are accepted where the upstream does not log.",
        "RLY.features.declared",
        make=_answering("logging/setLevel", {"result": {}}),
    ),
    relay_mutant(
        "relay-offers-every-feature",
        "Resources and prompts are declared whatever the upstream has.",
        "RLY.features.lacking",
        down=_declaring(lambda own: {"resources": {}, "prompts": {}} | own),
    ),
    relay_mutant(
        "relay-offers-completions",
        "Completions are declared whatever the upstream has.",
        "RLY.features.lacking",
        down=_declaring(lambda own: own | {"completions": {}}),
    ),
    relay_mutant(
        "relay-loses-sizes-of-resources",
        "Listed resources do not say their size.",
        "RLY.features.resources.list",
        down=_each(
            "resources/list", "resources", lambda listed: [without(each, "size") for each in listed]
        ),
    ),
    relay_mutant(
        "relay-lists-first-resources",
        "Resources beyond the first page are not listed.",
        "RLY.features.resources.list",
        down=answered("resources/list", lambda result: without(result, "nextCursor")),
    ),
    relay_mutant(
        "relay-lists-no-templates",
        "Templates are listed as none.",
        "RLY.features.resources.list",
        down=_each("resources/templates/list", "resourceTemplates", lambda _: []),
    ),
    relay_mutant(
        "relay-reads-one-content",
        "Of the contents of a resource the first arrives.",
        "RLY.features.resources.read",
        down=_each("resources/read", "contents", lambda contents: contents[:1]),
    ),
    relay_mutant(
        "relay-reads-data-as-text",
        "Data of resources arrives as text.",
        "RLY.features.resources.read",
        down=_each(
            "resources/read",
            "contents",
            lambda contents: [
                without(each, "blob") | ({"text": each["blob"]} if "blob" in each else {})
                for each in contents
            ],
        ),
    ),
    relay_mutant(
        "relay-gets-prompts-in-ascii",
        "Characters beyond ASCII are left out of prompts.",
        "RLY.features.prompts",
        down=answered("prompts/get", _ascii),
    ),
    relay_mutant(
        "relay-drops-arguments-of-prompts",
        "Prompts are got without arguments.",
        "RLY.features.prompts",
        up=_asking("prompts/get", lambda params: without(params, "arguments")),
    ),
    relay_mutant(
        "relay-shortens-completions",
        "Of completions the first value arrives.",
        "RLY.features.completions",
        down=answered(
            "completion/complete",
            lambda result: (
                result
                | {
                    "completion": result["completion"]
                    | {"values": result["completion"]["values"][:1]}
                }
            ),
        ),
    ),
    relay_mutant(
        "relay-completes-without-context",
        "What is completed loses its context.",
        "RLY.features.completions",
        up=_asking("completion/complete", lambda params: without(params, "context")),
    ),
    relay_mutant(
        "relay-knows-no-ping",
        "A client's ping is refused.",
        "RLY.features.ping",
        make=_answering(
            "ping", {"error": {"code": Number("-32601"), "message": "Method not found"}}
        ),
    ),
    relay_mutant(
        "relay-answers-pings-with-more",
        "A client's ping is answered with a member.",
        "RLY.features.ping",
        make=_answering("ping", {"result": {"ok": True}}),
    ),
    relay_mutant(
        "relay-keeps-pings",
        "A ping of the upstream reaches no client.",
        "RLY.features.ping",
        down=lambda message, _: None if message.get("method") == "ping" else message,
    ),
    relay_mutant(
        "relay-renames-pings",
        "A ping of the upstream reaches the client as another request.",
        "RLY.features.ping",
        down=lambda message, _: (
            message | {"method": "health"} if message.get("method") == "ping" else message
        ),
    ),
)
