"""The discovery tool's own entry in tools/list, and its input schema: FR-001.declared."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import jsonschema
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen
from mcp_proxy_conformance.wire.conversation import Conversation


def offered(bench: Bench, tool: str = "") -> dict[str, dict[str, Any]]:
    """The entry by the path of each declared endpoint that holds it; inconclusive without any.

    `tool`: the entry of that one of the target's own tools instead.
    """
    name, found = tool or bench.surface.discovery_tool, {}
    for endpoint in bench.surface.endpoints:
        with suppress(Inconclusive):
            client = bench.started.client(bench.agent, endpoint)
            found[endpoint] = _entry(client, name)
    bench.require(found, f"no declared endpoint offers {name}")
    return found


def elsewhere(bench: Bench, tool: str = "") -> list[str]:
    """The endpoints beside the first that offer a tool of the target's own, or discovery."""
    place = ("endpoints", bench.agent, tool)
    found = bench.started.answers.get(place)
    if found is None:
        first = {"", bench.surface.endpoints[0], urlsplit(bench.started.access.url).path}
        found = [one for one in offered(bench, tool) if one not in first]
        bench.started.answers[place] = found
    return list(found)


def offered_anywhere(bench: Bench) -> dict[str, dict[str, Any]]:
    """The same, and under `stdio` the entry over that transport where the target serves it."""
    found = offered(bench)
    if bench.agent is None and bench.started.access.stdio is not None:
        with bench.started.stdio() as client, suppress(Inconclusive):
            found["stdio"] = _entry(client, bench.surface.discovery_tool)
    return found


def _entry(client: Conversation, name: str) -> dict[str, Any]:
    for tool in client.tools():
        if tool.get("name") == name:
            return tool
    raise Inconclusive(f"no tool {name!r} is offered", cause="not_offered")


SHOWN = 200


def refusals(schema: Any, arguments: dict[str, Any]) -> list[str]:
    """What a schema has against these arguments; raises Misshapen when it is none."""
    if not isinstance(schema, dict):
        raise Misshapen(f"the inputSchema is no object: {schema!r:.{SHOWN}}", "FR-001.declared")
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
        found = kind(schema, registry=Registry()).iter_errors(arguments)
        return [error.message for error in found]
    except jsonschema.SchemaError as error:
        raise Misshapen(
            f"the inputSchema is no JSON Schema: {error.message}", "FR-001.declared"
        ) from None
    except Unresolvable as error:
        raise Inconclusive(
            f"the inputSchema rests on another document: {error}", cause="foreign_schema"
        ) from None


def default(schema: Any) -> Any:
    """The default that a schema gives the flag, None without one."""
    properties = schema.get("properties")
    declared = properties.get(FLAG) if isinstance(properties, dict) else None
    return declared.get("default") if isinstance(declared, dict) else None
