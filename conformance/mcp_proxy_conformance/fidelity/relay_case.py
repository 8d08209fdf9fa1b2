"""Relay cases: JSON fixtures of a tool call and the upstream's answer, kept as exact JSON text."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.catalogue.case_file import own_cases, read_cases, shipped

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

    def __post_init__(self) -> None:
        """Take arguments that the file has as a string for the JSON in it."""
        if bytes(self.arguments)[:1] == b'"':
            text = msgspec.json.decode(self.arguments, type=str).encode()
            msgspec.structs.force_setattr(self, "arguments", msgspec.Raw(text))


@cache
def relay_cases() -> tuple[RelayCase, ...]:
    """Return every shipped relay case, sorted by id, read once.

    Raises BadCase for one that does not fit the schema.
    """
    return shipped("fidelity", read)


def read(path: Path) -> list[RelayCase]:
    """Return the relay cases of a file; raise BadCase for one that does not fit the schema."""
    return read_cases(path, RelayCase, "relay-case")


def read_own(path: Path) -> tuple[RelayCase, ...]:
    """Return a user's relay cases; raise BadCase as `read`, and for an unknown clause."""
    return own_cases(path, read, relay_cases())


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
