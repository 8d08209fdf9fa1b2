"""Mutants that rewrite the flag's schema and description in tools/list: FR-001.declared, FR-014."""

from __future__ import annotations

from collections.abc import Callable

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.selftest.edits import Entry, wire
from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault

Change = Callable[[Entry], None]


def published(
    change: Change, where: Callable[[WireExchange], bool] = lambda _: True
) -> Callable[[WireExchange, Json], Json | None]:
    """Return a hook that has `change` alter, in place, the discovery tool's entry in tools/list.

    Only in answers to requests for which `where` holds; for any other it returns None: no
    change.
    """

    def edit(x: WireExchange, result: Json) -> Json | None:
        """Return the changed tools/list result; None for another method or place."""
        if x.method != "tools/list" or not where(x):
            return None
        for tool in result.get("tools", []):
            if tool.get("name") == x.surface.discovery_tool:
                change(tool)
        return result

    return edit


def schema(**members: Json) -> Callable[[WireExchange, Json], Json | None]:
    """Return a hook that sets these members in the flag's own schema in tools/list.

    A missing schema is made, of type boolean. For any other method it returns None: no change.
    """

    def change(tool: Entry) -> None:
        """Set the members in the flag's schema of the tool's entry."""
        properties = tool.setdefault("inputSchema", {}).setdefault("properties", {})
        properties[FLAG] = {"type": "boolean", **(properties.get(FLAG) or {}), **members}

    return published(change)


def _closed(tool: Entry) -> None:
    """Remove the flag from the tool's input schema, and forbid properties that it does not name."""
    tool["inputSchema"].get("properties", {}).pop(FLAG, None)
    tool["inputSchema"]["additionalProperties"] = False


def _required(tool: Entry) -> None:
    """Make the flag a required member of the input schema."""
    required = tool["inputSchema"].get("required") or []
    tool["inputSchema"]["required"] = [*required, FLAG]


def _silent(tool: Entry) -> None:
    """Replace the flag's name by "the flag" wherever it is in the tool's description."""
    description = str(tool.get("description", ""))
    tool["description"] = description.replace(FLAG, "the flag")


def _misspelled(tool: Entry) -> None:
    """Write the flag's name in camel case in the tool's description."""
    description = str(tool.get("description", ""))
    tool["description"] = description.replace(FLAG, "includeDisabled")


def _wordless(tool: Entry) -> None:
    """Remove the tool's description."""
    tool.pop("description", None)


def _in_the_schema(tool: Entry) -> None:
    """Remove the description's sentences that name the flag; describe it in its schema instead."""
    description = str(tool.get("description", ""))
    tool["description"] = " ".join(s for s in description.split(". ") if FLAG not in s)
    properties = tool["inputSchema"].setdefault("properties", {})
    properties[FLAG] = {"type": "boolean", "description": f"Set {FLAG} to see locked tools."}


def _at_last_endpoint(x: WireExchange) -> bool:
    """Whether the request goes to the last of the target's endpoints, or that has an empty path."""
    last = x.surface.endpoints[-1]
    return not last or x.path == last


FAULTS: tuple[WireFault, ...] = (
    wire("schema-closed", "The schema does not allow the flag.", "FR-001.declared",
         result=published(_closed)),
    wire("schema-true", "The schema says that the flag is on by default.", "FR-001.declared",
         result=schema(default=True)),
    wire("schema-required", "The schema requires the flag.", "FR-001.declared",
         result=published(_required)),
    wire("schema-true-only", "The schema does not allow false for the flag.", "FR-001.declared",
         result=schema(enum=[True])),
    wire("schema-word", "The schema declares the flag as a string.", "FR-001.declared",
         result=schema(type="string")),
    wire("untold", "The description does not name the flag.", "FR-014.described",
         result=published(_silent)),
    wire("untold-at-one-endpoint", "At the last endpoint, the description does not name the flag.",
         "FR-014.described", result=published(_silent, _at_last_endpoint)),
    wire("told-misspelled", "The description misspells the flag.", "FR-014.described",
         result=published(_misspelled)),
    wire("told-in-schema", "The flag is named only in the schema, not in the description.",
         "FR-014.described",
         result=published(_in_the_schema)),
    wire("undescribed", "The discovery tool has no description.", "FR-014.described",
         result=published(_wordless)),
)  # fmt: skip
