"""Relay cases: JSON fixtures of a tool call and the upstream's answer, kept as exact JSON text."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.catalogue.bounded import read_bytes
from mcp_proxy_conformance.catalogue.case import BadCase
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.resources import case_files

EMPTY = msgspec.Raw(b"{}")
NOTHING = msgspec.Raw(b"")


class RelayCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fixture about one call, named for what it finds.

    Area `arguments` compares the arguments that the upstream gets, area `result` what the client
    gets, `at` that path in a document of two members: `kind` (result, tool error, error) and the
    member `result` or `error`. All of these are kept as texts of JSON; arguments that many
    readers refuse are written as a string that has the text. `by` says what holds: an equal
    value, the same tokens, a text that contains the other, or (of a kind) anything but success. It
    is `refusable` if a relay may refuse the call instead, with an error; with `optional`, what does
    not arrive at all is not judged.
    """

    id: str
    area: Literal["arguments", "result"]
    title: str
    clauses: tuple[str, ...]
    interpretations: tuple[str, ...] = ()
    tool: str = "echo"
    arguments: msgspec.Raw = EMPTY
    result: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING
    at: tuple[str | int, ...] = ()
    by: Literal["value", "tokens", "contains", "loud"] = "value"
    refusable: bool = False
    optional: bool = False


@cache
def relay_cases() -> tuple[RelayCase, ...]:
    """Return every shipped relay case, in order of file name, read once.

    Raises BadCase for one that does not fit the schema.
    """
    return tuple(decoded(path.name, path.read_bytes()) for path in case_files("fidelity"))


def decoded(name: str, content: bytes) -> RelayCase:
    """Return the relay case that is in the content of a file; raise BadCase if it does not fit.

    `name` is the file's, for that error.
    """
    try:
        case = msgspec.json.decode(content, type=RelayCase)
    except msgspec.MsgspecError as error:
        raise BadCase(f"{name}: {error}; see schemas/relay-case.schema.json") from None
    return msgspec.structs.replace(
        case,
        arguments=_as_text(case.arguments),
        result=case.result.copy(),
        error=case.error.copy(),
    )


def read_own(path: Path) -> RelayCase:
    """Read a user's relay case; raise BadCase if it cannot be read or names an unknown clause."""
    try:
        case = decoded(path.name, read_bytes(path))
    except OSError as error:
        raise BadCase(f"cannot read {path}: {error.strerror}; name another file") from None
    unknown = [clause for clause in case.clauses if clause not in catalogue().clauses]
    if unknown:
        raise BadCase(f"{path.name}: there is no clause {unknown[0]}; see `list clauses`")
    return case


def members_of(case: RelayCase) -> dict[str, Any]:
    """Return the members of a case as Python data, without those at their default.

    Arguments that its file has as a string come back as the value of the JSON in it.
    """
    members: dict[str, Any] = {}
    for field in msgspec.structs.fields(case):
        value = getattr(case, field.name)
        if field.required or value != field.default:
            raw = isinstance(value, msgspec.Raw)
            members[field.name] = json.loads(bytes(value)) if raw else value
    return members


def _as_text(arguments: msgspec.Raw) -> msgspec.Raw:
    """Return arguments as the JSON text to send: a string's content, else the text itself."""
    own = bytes(arguments)
    if own[:1] != b'"':
        return arguments.copy()
    return msgspec.Raw(msgspec.json.decode(own, type=str).encode())
