"""An input schema that a target publishes, applied to arguments: in a child where it may not end.

`python -m mcp_proxy_conformance.discovery.input_schema` is that child: a JSON line in, one out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import jsonschema
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen

SHOWN = 200
APPLIED_S, MEMORY = 10.0, 320 << 20
"""Seconds and bytes that a child may take."""
ENDLESS = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "pattern", "patternProperties", "format",
     "uniqueItems", "allOf", "anyOf", "oneOf", "not", "if"}
)  # fmt: skip
"""Keywords with which a short schema may take long: such a schema is applied in a child."""
DEEP, LARGE = 20, 2000
"""How deep, and of how many members, a schema may be that is applied in this process."""
Kind = Literal["refusals", "none", "foreign", "open"]


class Applied(NamedTuple):
    """What came of it: for each of the arguments what the schema has against them, or why not."""

    kind: Kind
    told: Any


def refusals(schema: Any, forms: Sequence[dict[str, Any]]) -> list[list[str]]:
    """What a schema has against each of these arguments.

    Raises:
        Misshapen: It is no schema.
        Inconclusive: It rests on another document, or cannot be applied in time.
    """
    if not isinstance(schema, dict):
        raise Misshapen(f"the inputSchema is no object: {schema!r:.{SHOWN}}", "FR-001.declared")
    found = applied(schema, forms) if _is_plain(schema) else _in_child(schema, forms)
    match found.kind:
        case "none":
            raise Misshapen(f"the inputSchema is no JSON Schema: {found.told}", "FR-001.declared")
        case "foreign":
            told = f"the inputSchema rests on another document: {found.told}"
            raise Inconclusive(told, cause="foreign_schema")
        case "open":
            told = f"the inputSchema could not be applied: {found.told}"
            raise Inconclusive(told, cause="unread_answer")
    refused: list[list[str]] = found.told
    return refused


def default(schema: Any) -> Any:
    """The default that a schema gives the flag, None without one."""
    properties = schema.get("properties")
    declared = properties.get(FLAG) if isinstance(properties, dict) else None
    return declared.get("default") if isinstance(declared, dict) else None


def applied(schema: dict[str, Any], forms: Sequence[dict[str, Any]]) -> Applied:
    """In this process, however long that takes."""
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
        validator = kind(schema, registry=Registry())
        told = [[one.message for one in validator.iter_errors(form)] for form in forms]
    except jsonschema.SchemaError as error:
        # a pattern is of ECMA-262, of which Python reads the most and not all
        return Applied("open" if error.validator == "format" else "none", error.message)
    except Unresolvable as error:
        return Applied("foreign", str(error))
    except RecursionError:
        return Applied("open", "it nests too deeply, or refers to itself without end")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not the suite's
        return Applied("open", f"{type(error).__name__} {error}")
    return Applied("refusals", told)


def _is_plain(schema: dict[str, Any]) -> bool:
    """Whether it is small, and holds nothing that may take long."""
    seen = 0
    for depth, keywords in _objects(schema):
        seen += len(keywords)
        if depth > DEEP or seen > LARGE or not ENDLESS.isdisjoint(keywords):
            return False
    return True


def _objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object in it with its depth, without recursion."""
    left = [(0, value)]
    while left:
        depth, one = left.pop()
        if isinstance(one, dict):
            yield depth, one
            left += [(depth + 1, inner) for inner in one.values()]
        elif isinstance(one, list):
            left += [(depth + 1, inner) for inner in one]


def _in_child(schema: dict[str, Any], forms: Sequence[dict[str, Any]]) -> Applied:
    try:
        asked = json.dumps([schema, forms]).encode()
        done = subprocess.run(
            [sys.executable, "-m", "mcp_proxy_conformance.discovery.input_schema"],
            input=asked, capture_output=True, timeout=APPLIED_S, check=False,
        )  # fmt: skip
        return Applied(*json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return Applied("open", f"that takes more than {APPLIED_S:g} s")
    except (ValueError, RecursionError):
        return Applied("open", "it nests too deeply, or takes too much memory")


def _main() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not everywhere

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    schema, forms = json.load(sys.stdin)
    json.dump(applied(schema, forms), sys.stdout)


if __name__ == "__main__":
    _main()
