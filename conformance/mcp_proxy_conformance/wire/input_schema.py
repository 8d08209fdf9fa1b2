"""Validation of arguments by a target's input schema, in a child process if it may not end.

`python -m mcp_proxy_conformance.wire.input_schema` is that child: a JSON line in, one out.
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
from mcp_proxy_conformance.wire.jsonrpc import kind_of

SHOWN = 200
APPLIED_S, MEMORY = 10.0, 320 << 20
"""Seconds and bytes that a child may take."""
ENDLESS = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "pattern", "patternProperties", "format",
     "uniqueItems", "allOf", "anyOf", "oneOf", "not", "if"}
)  # fmt: skip
"""Keywords that can make a short schema slow: such a schema is applied in a child."""
DEEP, LARGE = 20, 2000
"""Maximum depth, and number of members, of a schema that is applied in this process."""
Kind = Literal["refusals", "none", "foreign", "open"]


class Applied(NamedTuple):
    """Result of applying a schema: a list of error messages for each set of arguments.

    By `kind`: `refusals`, that list; else the reason, as text, why there is none: `none`, it is not
    a schema; `foreign`, it refers to another document; `open`, it could not be applied.
    """

    kind: Kind
    result: Any


def refusals(schema: Any, forms: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return, for each set of arguments in `forms`, the schema's error messages; [] if accepted.

    A schema that may take long is applied in a child process. Raises Misshapen if it is not a
    schema, Inconclusive if it refers to another document or cannot be applied in time.
    """
    if not isinstance(schema, dict):
        raise Misshapen(f"the inputSchema is {kind_of(schema)}, not an object", "FR-001.declared")
    outcome = applied(schema, forms) if _is_plain(schema) else _in_child(schema, forms)
    match outcome.kind:
        case "none":
            raise Misshapen(
                f"the inputSchema is not a JSON Schema: {outcome.result}", "FR-001.declared"
            )
        case "foreign":
            reason = f"the inputSchema refers to another document: {outcome.result}"
            raise Inconclusive(reason, cause="foreign_schema")
        case "open":
            reason = f"the inputSchema could not be applied: {outcome.result}"
            raise Inconclusive(reason, cause="unread_answer")
    refused: list[list[str]] = outcome.result
    return refused


def default(schema: Any, name: str = FLAG) -> Any:
    """Return the default that a schema gives the property `name`; None without one."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    declared = properties.get(name) if isinstance(properties, dict) else None
    return declared.get("default") if isinstance(declared, dict) else None


def applied(schema: dict[str, Any], forms: Sequence[dict[str, Any]]) -> Applied:
    """Apply the schema to each set of arguments in this process, without a time limit.

    Every failure is a kind of result, and nothing is raised.
    """
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
        validator = kind(schema, registry=Registry())
        messages = [[_refusal(error) for error in validator.iter_errors(form)] for form in forms]
    except jsonschema.SchemaError as error:
        # a pattern is of ECMA-262, of which Python reads the most and not all
        return Applied("open" if error.validator == "format" else "none", error.message)
    except Unresolvable as error:
        return Applied("foreign", str(error))
    except RecursionError:
        return Applied("open", "it is nested too deeply, or refers to itself without end")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not the suite's
        return Applied("open", f"{type(error).__name__} {error}")
    return Applied("refusals", messages)


def _refusal(error: jsonschema.ValidationError) -> str:
    """Return a validation error in words: its place, the keyword and value, what it refuses."""
    keyword, value = error.validator, json.dumps(error.validator_value, default=str)
    return f"{error.json_path}: {keyword} {value:.{SHOWN}} refuses {json.dumps(error.instance)}"


def _is_plain(schema: dict[str, Any]) -> bool:
    """Whether the schema is small and flat, with no keyword that may take long to apply."""
    count = 0
    for depth, keywords in _objects(schema):
        count += len(keywords)
        if depth > DEEP or count > LARGE or not ENDLESS.isdisjoint(keywords):
            return False
    return True


def _objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (depth, object) of every object in a JSON value, the outermost of depth 0."""
    left = [(0, value)]
    while left:
        depth, node = left.pop()
        if isinstance(node, dict):
            yield depth, node
            left += [(depth + 1, inner) for inner in node.values()]
        elif isinstance(node, list):
            left += [(depth + 1, inner) for inner in node]


def _in_child(schema: dict[str, Any], forms: Sequence[dict[str, Any]]) -> Applied:
    """Apply the schema in a child process, which is ended after ten seconds.

    The result is `open` then, and if the child's reply cannot be read.
    """
    try:
        request = json.dumps([schema, forms]).encode()
        done = subprocess.run(
            [sys.executable, "-m", "mcp_proxy_conformance.wire.input_schema"],
            input=request, capture_output=True, timeout=APPLIED_S, check=False,
        )  # fmt: skip
        return Applied(*json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return Applied("open", f"that takes more than {APPLIED_S:g} s")
    except (ValueError, RecursionError):
        return Applied("open", "it is nested too deeply, or takes too much memory")


def _main() -> None:
    """Answer one request of `_in_child` from standard input, in limited memory where possible."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not everywhere

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    schema, forms = json.load(sys.stdin)
    json.dump(applied(schema, forms), sys.stdout)


if __name__ == "__main__":
    _main()
