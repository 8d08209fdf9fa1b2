"""Rules of MCP 2026-07-28 for a request's `_meta` and HTTP headers, and the error for a breach."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.wire import revisions
from mcp_proxy_conformance.wire.jsonrpc import object_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_proxy_conformance.verdict.cited import Headers

HEADER_MISMATCH, MISSING_CAPABILITY = -32020, -32021
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The member of the params that the header `Mcp-Name` repeats, by method."""
PARAM = "mcp-param-"
_PREFIX, _SUFFIX = "=?base64?", "?="


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a request: the code, message and data of the error that refuses it."""

    code: int
    message: str
    data: Any = None


def meta_of(message: Any) -> Mapping[str, Any]:
    """Return the `_meta` of a message; empty if it has none."""
    return object_of(object_of(object_of(message).get("params")).get("_meta"))


def claims(headers: Headers, message: Any) -> bool:
    """Whether a request says, in its header or its `_meta`, that it is one of 2026-07-28."""
    stated = [value for name, value in headers if name.lower() == "mcp-protocol-version"]
    stated.append(str(meta_of(message).get(revisions.META_VERSION)))
    return revisions.LATEST_STATELESS in stated


def meta_fault(message: Any) -> Fault | None:
    """Return what is wrong with the `_meta` of a request; None if nothing is.

    It has to state the version 2026-07-28 and the client's capabilities, an object.
    """
    meta = meta_of(message)
    version = meta.get(revisions.META_VERSION)
    if not isinstance(version, str):
        text = f"_meta has to state the version; this server speaks {revisions.LATEST_STATELESS}"
        return Fault(code=revisions.INVALID_PARAMS, message=text)
    if version != revisions.LATEST_STATELESS:
        return unsupported(version)
    if not isinstance(meta.get(revisions.META_CAPABILITIES), dict):
        text = "_meta has to state the client's capabilities"
        return Fault(code=revisions.INVALID_PARAMS, message=text)
    return None


def unsupported(version: Any) -> Fault:
    """Return the fault of a request of that version, which is not 2026-07-28."""
    return Fault(
        code=revisions.UNSUPPORTED_REVISION,
        message="Unsupported protocol version",
        data={"supported": [revisions.LATEST_STATELESS], "requested": version},
    )


def http_fault(
    headers: Headers, message: Mapping[str, Any], marks: Mapping[str, Sequence[str]]
) -> Fault | None:
    """Return what is wrong with a request over HTTP; None if nothing is.

    `marks` are the paths of the called tool's arguments that a header must repeat, by
    `x-mcp-header`.
    """
    stated = _values(headers, "mcp-protocol-version")
    if not stated:
        text = f"MCP-Protocol-Version is missing; this server speaks {revisions.LATEST_STATELESS}"
        return Fault(code=HEADER_MISMATCH, message=text)
    if stated[0] != revisions.LATEST_STATELESS:
        return unsupported(stated[0])
    fault = meta_fault(message)
    if fault is not None and fault.code != revisions.UNSUPPORTED_REVISION:
        return fault
    wrong = [*misfits(headers, message, marks)]
    return Fault(code=HEADER_MISMATCH, message="; ".join(wrong)) if wrong else fault


def misfits(
    headers: Headers, message: Mapping[str, Any], marks: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield a sentence for each header that does not fit the body of a request of 2026-07-28.

    `marks` are the paths of the called tool's arguments that a header must repeat, by
    `x-mcp-header`; further `Mcp-Param-` headers are not looked at.
    """
    method, params = message.get("method"), object_of(message.get("params"))
    wanted = {
        "mcp-protocol-version": meta_of(message).get(revisions.META_VERSION),
        "mcp-method": method,
    }
    if (named := NAMED_BY.get(str(method))) is not None:
        wanted["mcp-name"] = params.get(named)
    for name, value in wanted.items():
        yield from _misfit(headers, name, value)
    for mark, path in marks.items():
        yield from _misfit(headers, PARAM + mark.lower(), at_path(params.get("arguments"), path))


def marks_of(entry: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """Return, by the `x-mcp-header` marks of a tool's input schema, the paths of the arguments."""
    return dict(_marked(entry.get("inputSchema"), ()))


def at_path(value: Any, path: Sequence[str]) -> Any:
    """Return the value at a path of names; None if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def plain(value: str) -> str | None:
    """Return the text that a header value stands for, decoded if it is wrapped; None if invalid."""
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    try:
        inside = value.removeprefix(_PREFIX).removesuffix(_SUFFIX)
        return base64.b64decode(inside, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _misfit(headers: Headers, name: str, value: Any) -> Iterator[str]:
    """Yield a sentence unless the header occurs once with that value or, for None, not at all.

    A value that is not a text is expected as JSON; an integer may be spelled otherwise, such as
    `7.0`.
    """
    stated = [plain(each) for each in _values(headers, name)]
    wanted = [] if value is None else [value if isinstance(value, str) else json.dumps(value)]
    if stated == wanted or (len(stated) == 1 and _is_number(stated[0], value)):
        return
    shown = ", ".join(map(repr, stated)) or "missing"
    yield f"{name} is {shown}, and the body has {json.dumps(value)}"


def _is_number(text: str | None, value: Any) -> bool:
    """Whether `value` is an integer and `text` another spelling of it, such as `7.0` for 7."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    try:
        return text is not None and float(text) == value
    except ValueError:
        return False


def _marked(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (name of the header, path) for each mark below the properties of a schema."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        mark = inner.get("x-mcp-header") if isinstance(inner, dict) else None
        if isinstance(mark, str):
            yield mark, (*path, name)
        yield from _marked(inner, (*path, name))


def _values(headers: Headers, name: str) -> list[str]:
    """Return the values of a header, whose name is given in lower case, in order."""
    return [value for each, value in headers if each.lower() == name]
