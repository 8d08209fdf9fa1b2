"""JSON read and written with every number as it was spelled, for filters that change one thing."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

Json = Any
"""A JSON value as Python has it, but for its numbers, which are `Number`s."""


class Number(str):
    """A JSON number, as it was spelled."""

    __slots__ = ()

    @property
    def is_integer(self) -> bool:
        """Whether the number is spelled without a fraction and an exponent."""
        return self.lstrip("-").isdigit()


def read(text: bytes) -> Json:
    """Return the value of a JSON text; raises ValueError or RecursionError."""
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)


def write(value: Json) -> bytes:
    """Return a value as JSON in ASCII, numbers as they were spelled."""
    return _text(value).encode("ascii")


def plain(value: Json) -> Json:
    """Return a value with numbers as Python's int and float, of which decimals lose some digits."""
    if isinstance(value, Number):
        return int(value) if value.is_integer else float(value)
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def mapped(value: Json, change: Callable[[Json], Json]) -> Json:
    """Return a value with `change` applied to each value in it, inner ones first, and to itself.

    The value is not changed; names of members are kept.
    """
    if isinstance(value, dict):
        value = {name: mapped(inner, change) for name, inner in value.items()}
    elif isinstance(value, list):
        value = [mapped(inner, change) for inner in value]
    return change(value)


def number(value: float) -> Number:
    """Return a float as a Number in its shortest spelling; an infinite one as `Infinity`."""
    return Number("Infinity" if math.isinf(value) else repr(value))


def _text(value: Json) -> str:
    """Return a value as JSON text."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Mapping):
        members = (f"{json.dumps(name)}:{_text(inner)}" for name, inner in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)
