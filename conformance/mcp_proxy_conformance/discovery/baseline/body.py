"""Stored form of an answer: request, exact bytes, members that vary; its file and comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.discovery.calibration import (
    ByteDifference,
    Exact,
    Path,
    difference,
    path_in_words,
    still,
)
from mcp_proxy_conformance.discovery.requests import in_words

FORMAT = "mcp-proxy-conformance-answer/1"
ENDING = "answer"
"""The last part of the names of the files."""
Phase = Literal["open", "locked"]
"""A baseline's stage before its steps, and after them."""

_HEAD_END = b"\n}\n"


class BadBody(ValueError):
    """The file of an answer is not as it was written; the message says so in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One answer as it is stored: its request, its exact bytes, and the paths of what varies there.

    `moving` are the members whose values differ between equal requests. Addresses and tokens of the
    run are replaced in the bytes; `phase` is None outside of a baseline.
    """

    phase: Phase | None = None
    request: Mapping[str, Any]
    exact: Exact
    moving: frozenset[Path]

    @property
    def key(self) -> str:
        """The request as one line, after its phase if it has one; the same in every recording."""
        phase = f"{self.phase}: " if self.phase else ""
        return phase + in_words(self.request)


class _Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """First part of a file; `volatile` are the paths of members that vary between equal answers.

    `result` is the length of the second part in bytes.
    """

    format: str
    request: dict[str, Any]
    volatile: tuple[tuple[str | int | tuple[str, str], ...], ...]
    result: int


def written(body: Body) -> bytes:
    """Return the bytes of an answer's file: a head in JSON, the result around the text, the text.

    The values at the paths in `moving`, which vary, are cut out, so that equal answers have equal
    files.
    """
    exact = still(body.exact, body.moving)
    head = _Head(
        format=FORMAT,
        request=dict(body.request),
        volatile=tuple(sorted(body.moving, key=str)),
        result=len(exact.result),
    )
    text = json.dumps(msgspec.to_builtins(head), indent=1, ensure_ascii=False)
    return b"\n".join([text.encode("utf-8", "backslashreplace"), exact.result, exact.text, b""])


def parsed(raw: bytes, phase: Phase | None = None) -> Body:
    """Return the answer that is in the bytes of a file, as one of that phase.

    Raises BadBody if its head is unreadable, its format another, or its length changed.
    """
    start, end, rest = raw.partition(_HEAD_END)
    try:
        head = msgspec.json.decode(start + end, type=_Head)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise BadBody(f"its head cannot be read: {error}") from None
    result, separator, text = rest[: head.result], rest[head.result :][:1], rest[head.result + 1 :]
    if head.format != FORMAT or separator != b"\n" or not text.endswith(b"\n"):
        raise BadBody(f"it is not a file of the format {FORMAT}, or was changed")
    return Body(
        phase=phase,
        request=head.request,
        exact=Exact(result=result, text=text[:-1]),
        moving=frozenset(head.volatile),
    )


def changed(body: Body, other: Body) -> ByteDifference | None:
    """Return the first difference of a newer answer, `other`, from `body`, None without any.

    Members that vary between equal requests in either are not compared. If nothing else differs, a
    member that varies only in `other` is the difference.
    """
    result = difference(body.exact, other.exact, body.moving | other.moving)
    begun = sorted(other.moving - body.moving, key=str)
    if result is not None or not begun:
        return result
    observed = b"changes between equal requests"
    return ByteDifference(
        at=path_in_words(begun[0]), offset=0, usual=b"always the same", actual=observed
    )
