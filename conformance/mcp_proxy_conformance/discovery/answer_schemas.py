"""Validation of answers by their JSON Schemas: a finding, with pointer and clauses, per breach."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import jsonschema
import msgspec
from referencing import Registry, Resource

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.catalogue.surface import FLAG, Members
from mcp_proxy_conformance.verdict.result import Finding

MOST = 20
"""Maximum number of findings on one answer; further ones say nothing new."""
MOST_ENTRIES, MOST_SERVERS, MOST_ERRORS = 50, 500, 500
"""Locked entries, servers and breaches of one answer that are looked at: it may hold any number."""
KEPT, LONGEST = 5_000, 20_000
"""Distinct answers, and characters of one, whose findings are kept: most answers of a run are
equal to an earlier one."""
Names = Mapping[str, str]


def exchange_findings(
    body: Mapping[str, Any], members: Members, *, flag: Any, limit: Any
) -> tuple[Finding, ...]:
    """Return up to 20 findings on a discovery answer to a request with this flag and limit.

    Pointers are into the answer, in the target's own names. The inside of callable entries is
    not looked at; with more than 50 locked entries, only their number is judged. A section
    without the flag is left to checks: they have seen that the flag brings it.
    """
    names = {"tools": members.tools, "notice": members.note}
    if flag is not False:
        names |= {"disabled": members.disabled, "remediation": members.remediation}
    asked = {FLAG: flag} | ({"limit": limit} if isinstance(limit, (int, float)) else {})
    answer = _canonical(body, names)
    if answer.get("tools"):  # what callable entries hold is the target's own affair
        answer["tools"] = [{}]
    entries: Any = answer.get("disabled")
    too_many = isinstance(entries, list) and len(entries) > MOST_ENTRIES
    if too_many:
        answer["disabled"] = entries[:MOST_ENTRIES]
    findings = _findings("discovery-exchange", {"request": asked, "answer": answer}, names)
    return tuple(f for f in findings if not too_many or "FR-006.cap" in f.clauses)


def listing_findings(listed: Sequence[Any], members: Members) -> tuple[Finding, ...]:
    """Return up to 20 breaches of a listing's schema in the counts of its first 500 servers."""
    names = {"servers": members.servers, "tools": members.counts}
    servers = [_server(entry, members) for entry in listed[:MOST_SERVERS]]
    return _findings("server-listing", {"servers": servers}, names)


def inspection_findings(entry: Any, members: Members) -> tuple[Finding, ...]:
    """Return up to 20 breaches of the schema in the counts of `entry`, the view of one server."""
    names = {"server": members.inspected, "tools": members.counts}
    return _findings("server-inspection", {"server": _server(entry, members)}, names)


def rejection_findings(text: str, status: str) -> tuple[Finding, ...]:
    """Return the schema's breaches by the text of a refused call, for a tool with this status."""
    return _findings("rejection", {"status": status, "text": text}, {})


def _canonical(body: Mapping[str, Any], names: Names) -> dict[str, Any]:
    return {name: body[own] for name, own in names.items() if own in body}


def _server(entry: Any, members: Members) -> Any:
    return _canonical(entry, {"tools": members.counts}) if isinstance(entry, dict) else entry


def _findings(kind: str, value: Any, names: Names) -> tuple[Finding, ...]:
    text = json.dumps(value, ensure_ascii=False)
    cached = _cached if len(text) <= LONGEST else _cached.__wrapped__
    return cached(kind, text, json.dumps(names))


@lru_cache(KEPT)
def _cached(kind: str, value: str, names: str) -> tuple[Finding, ...]:
    """Return the findings on a value by the schema `kind`; `value` and `names` are JSON.

    Of breaches at one place (items of an array are one) of the same clauses the first counts.
    """
    own: Names = json.loads(names)
    findings: dict[tuple[tuple[str, ...], tuple[str, ...]], Finding] = {}
    for error in islice(_validator(kind).iter_errors(json.loads(value)), MOST_ERRORS):
        assert isinstance(error.schema, Mapping)
        clauses = tuple(error.schema.get("$comment", "").split())
        if not clauses:  # the answer cannot be read at all
            continue
        path, observed = [*error.absolute_path], error.instance
        if error.validator == "required":
            path.append(next(name for name in error.validator_value if name not in observed))
            observed = "absent"
        path = path[1:] if path[:1] == ["answer"] else path
        place = tuple("*" if isinstance(step, int) else step for step in path), clauses
        if len(findings) == MOST:
            break
        findings.setdefault(
            place,
            Finding(
                path=_pointer([own.get(str(step), str(step)) for step in path]),
                clauses=clauses,
                allowed=in_words(str(error.validator), error.validator_value),
                observed=observed,
                described=True,
            ),
        )
    return tuple(findings.values())


def _pointer(path: list[str]) -> str:
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


TYPES = {
    "object": "an object", "array": "a list", "string": "a text", "integer": "a whole number",
    "null": "nothing",
}  # fmt: skip
"""Words for the JSON types in schemas of answers."""
PATTERNS = {r"\S": "a text with at least one word", r"^[^\r\n]*$": "a text of one line"}
"""Words for the patterns in schemas of answers."""


def in_words(keyword: str, value: Any) -> str:
    """Return in words which values a schema's keyword with this value allows.

    Raises KeyError for a keyword, type or pattern that schemas of answers do not use.
    """
    match keyword, value:
        case "not", {"const": number}:
            return f"absent, or not {number}"
        case "not", {"allOf": _}:
            return "no act of the user"
        case "enum", [None, ""]:
            return "no text"
        case "enum", [*values]:
            words = [word for word in values if word and isinstance(word, str)]
            return " or ".join([*words, *(["nothing of use"] if None in values else [])])
        case "type", _:
            return " or ".join(
                TYPES[kind] for kind in ([value] if isinstance(value, str) else value)
            )
        case "pattern", _:
            return PATTERNS[value]
    return {
        "required": "present",
        "not": "absent",
        "maxItems": f"at most {value} {'entry' if value == 1 else 'entries'}",
        "minimum": f"{value} or more",
        "minLength": "a text that is not empty",
    }[keyword]


@cache
def _validator(kind: str) -> Any:
    schema = msgspec.json.decode((schemas_dir() / f"{kind}.schema.json").read_bytes())
    registry: Registry[Any] = Registry().with_resource(
        schema["$id"], Resource.from_contents(schema)
    )
    return _Validator(schema, registry=registry.crawl())


_right: set[tuple[int, str]] = set()
"""Items that were right by a schema: (the schema's id in memory, the item as JSON)."""


def _new_items(
    validator: Any, schema: Any, instance: Any, _: Any
) -> Iterator[jsonschema.ValidationError]:
    """Yield the errors of an array's items; one that was right before is not validated again."""
    for index, item in enumerate(instance if isinstance(instance, list) else ()):
        place = id(schema), json.dumps(item)
        if place not in _right:
            errors = list(validator.descend(item, schema, path=index))
            yield from errors
            if not errors and len(_right) < KEPT:
                _right.add(place)


_Validator: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, {"items": _new_items}
)
