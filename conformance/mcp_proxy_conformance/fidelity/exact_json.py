"""Lossless JSON values: numbers as tokens, members in order; the differences of two values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from mcp_proxy_conformance.wire.jsonrpc import decoded, may_be_deep

ABSENT = "absent"
"""What a difference shows in the place of a value that is not there."""
Kind = Literal["integer", "number", "text", "member", "whole", "other"]
"""What differs: a value of one of these types, a member that is absent, or the whole is absent."""


class Number(str):
    """A number, as the text of its token."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Whether both tokens have one value: 1.0 is 1, and -0 is 0.

        Decimal fractions of more digits than a double has are equal to those of the same double.
        """
        if not isinstance(other, Number):
            return False
        return bool(_exact(self) == _exact(other)) or _same_double(self, other)

    def __ne__(self, other: object) -> bool:
        """Whether the tokens have different values; `str` would compare their characters."""
        return not self == other

    __hash__ = str.__hash__


class Pairs(tuple[tuple[str, Any], ...]):
    """The members of a JSON object as (name, value) pairs, in order, duplicate names included."""

    __slots__ = ()

    def last(self) -> dict[str, Any]:
        """Return the members by name; of those of the same name the last one."""
        return dict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place where two values differ: its path, both sides, and what it is that differs.

    `integer` and `number` are numbers, by the allowed side, that came as another number or a text;
    `text` is two texts; a `member` is missing; `whole`: all is missing; all else is `other`.
    """

    path: str
    allowed: Any
    observed: Any
    kind: Kind = "other"


def read(raw: bytes) -> Any:
    """Return a JSON document as Number, Pairs, list, str, bool and None.

    Raises ValueError if it is not JSON, or nested too deeply.
    """
    if may_be_deep(raw) and decoded(raw) is None:
        raise ValueError("it is nested too deeply")
    return json.loads(
        raw, parse_int=_integer, parse_float=Number, object_pairs_hook=Pairs,
        parse_constant=_not_json,
    )  # fmt: skip


def sent(raw: bytes, *path: str | int) -> Any:
    """Return the value at a path of a document that somebody sent; ABSENT too if it is no JSON."""
    try:
        return at(read(raw), path)
    except ValueError:
        return ABSENT


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return the value at a path of names and indexes; ABSENT if any step is missing."""
    for step in path:
        if isinstance(value, Pairs) and isinstance(step, str):
            value = value.last().get(step, ABSENT)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return ABSENT
    return value


def differences(
    allowed: Any, observed: Any, path: str = "", *, additions: bool = False
) -> Iterator[Difference]:
    """Yield where an observed value differs from the allowed one, numbers by value.

    The order of members does not count, and of those of one name only the last does. Lists of
    different lengths are one difference. With `additions`, members that only the observed one has
    are no difference.
    """
    if isinstance(allowed, Pairs) and isinstance(observed, Pairs):
        left, right = allowed.last(), observed.last()
        names = left if additions else {**left, **right}
        for name in names:
            yield from differences(
                left.get(name, ABSENT), right.get(name, ABSENT), f"{path}.{name}".lstrip("."),
                additions=additions,
            )  # fmt: skip
    elif isinstance(allowed, list) and isinstance(observed, list):
        if len(allowed) != len(observed):
            yield Difference(path=path, allowed=plain(allowed), observed=plain(observed))
            return
        for number, (one, other) in enumerate(zip(allowed, observed, strict=True)):
            yield from differences(one, other, f"{path}[{number}]", additions=additions)
    elif type(allowed) is not type(observed) or allowed != observed:
        yield Difference(
            path=path, allowed=plain(allowed), observed=plain(observed),
            kind="whole" if observed is ABSENT and not path else _kind(allowed, observed),
        )  # fmt: skip


def _kind(allowed: Any, observed: Any) -> Kind:
    """Return what it is that differs in two values, by the allowed one's type, as in Difference."""
    if observed is ABSENT:
        return "member"
    if isinstance(allowed, Number) and isinstance(observed, Number | str):
        return "integer" if allowed.lstrip("-").isdigit() else "number"
    return "text" if type(allowed) is type(observed) is str else "other"


def same_tokens(allowed: Any, observed: Any) -> bool:
    """Whether two values have the same tokens in the same order: numbers as texts, all members."""
    return bool(_tokens(allowed) == _tokens(observed))


def plain(value: Any) -> Any:
    """Return the value for a report: numbers as their tokens, objects as dicts."""
    if isinstance(value, Pairs):
        return {name: plain(inner) for name, inner in value}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, Number) else value


def _tokens(value: Any) -> Any:
    """Return the value with its numbers as marked texts, and members as pairs."""
    if isinstance(value, Pairs):
        return ("object", *((name, _tokens(inner)) for name, inner in value))
    if isinstance(value, list):
        return ("array", *map(_tokens, value))
    return ("number", str(value)) if isinstance(value, Number) else (type(value).__name__, value)


def _exact(token: str) -> Decimal | str:
    """Return a number's value; the token if it is beyond all bounds."""
    try:
        return Decimal(str(token))
    except InvalidOperation:
        return str(token)


def _same_double(first: str, other: str) -> bool:
    """Whether the first has a point or exponent, and both tokens read as one finite double.

    Not if that is zero though the first is not.
    """
    is_fraction = not str(first).lstrip("-").isdigit()
    double = float(first)
    is_within = math.isfinite(double) and (double != 0 or _exact(first) == 0)
    return is_fraction and is_within and double == float(other)


def _integer(token: str) -> Number:
    int(token)
    return Number(token)


def _not_json(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def python(value: Any) -> Any:
    """Return the value as Python data: numbers as int and float, objects as dicts."""
    if isinstance(value, Pairs):
        return {name: python(inner) for name, inner in value}
    if isinstance(value, list):
        return [python(inner) for inner in value]
    return json.loads(str(value)) if isinstance(value, Number) else value
