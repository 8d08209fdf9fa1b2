"""What the discovery tool's published input schema says of its arguments: FR-001.declared."""

from __future__ import annotations

from typing import Any

import jsonschema
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen

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
