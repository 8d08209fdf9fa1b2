"""Relay mutants of a call's arguments as the upstream gets them: numbers, texts, depth, members."""

import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace

from mcp_proxy_mutants.fidelity.changed import Around, Forward, Got, Sent
from mcp_proxy_mutants.fidelity.json_text import Json, Number, number, plain, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import arguments, is_text, texts, values, without

DIGITS, SHALLOW, DEEP = 15, 20, 50
PROTOTYPES = ("__proto__", "constructor", "prototype")
EMPTY: tuple[Json, ...] = ("", [], {})
BEYOND = "Infinity"


def _bytes(change: Callable[[Json], bytes]) -> Around:
    """Return a filter that sends calls as the bytes that `change` makes of their message."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") == "tools/call":
            sent = replace(sent, body=change(message))
        return await forward(sent)

    return around


def _as_double(value: Json) -> Json:
    """Return an integer as that of the nearest double; any other value as it is."""
    if isinstance(value, Number) and value.is_integer:
        return Number(str(int(float(value))))
    return value


def _as_text(value: Json) -> Json:
    """Return an integer beyond 2^53 as a text; any other value as it is."""
    big = isinstance(value, Number) and value.is_integer and abs(int(value)) > 1 << 53
    return str(value) if big else value


def _null_beyond(value: Json) -> Json:
    """Return None for a number beyond those of doubles; any other value as it is."""
    if isinstance(value, Number) and number(float(value)) == BEYOND:
        return None
    return value


def _rounded(value: Json) -> Json:
    """Return a number with a fraction or an exponent at 15 digits; any other value as it is.

    A number beyond doubles stays, too.
    """
    if not isinstance(value, Number) or value.is_integer or number(float(value)) == BEYOND:
        return value
    return Number(f"{float(value):.{DIGITS}g}")


def _cut(value: Json, most: int, instead: Callable[[Json], Json], level: int = 0) -> Json:
    """Return a value in which lists and objects below `most` levels are replaced by `instead`.

    `instead` is called with each and returns what takes its place; `level` is the value's own.
    """
    if not isinstance(value, dict | list):
        return value
    if level >= most:
        return instead(value)
    if isinstance(value, list):
        return [_cut(inner, most, instead, level + 1) for inner in value]
    return {name: _cut(inner, most, instead, level + 1) for name, inner in value.items()}


def _without_empty(value: Json) -> Json:
    """Return an object without members that are null or empty; any other value as it is."""
    if not isinstance(value, dict):
        return value
    return {
        name: inner for name, inner in value.items() if inner is not None and inner not in EMPTY
    }


def _guessed(text: str) -> Json:
    """Return the JSON value that a text spells, such as a number or a list; else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return Number(text) if type(value) in (int, float) else value


def _replaced(text: str) -> str:
    """Return a text with lone surrogates and question marks as replacement characters.

    A text without lone surrogates is returned as it is.
    """
    return (
        text.encode("utf-8", "replace").decode().replace("?", "\N{REPLACEMENT CHARACTER}")
        if any("\ud800" <= letter <= "\udfff" for letter in text)
        else text
    )


MUTANTS = (
    relay_mutant(
        "relay-writes-infinity",
        "Numbers are written as Python has them, such as Infinity.",
        "RLY.up.wellformed",
        "RLY.up.arguments.decimals",
        make=lambda: _bytes(lambda message: json.dumps(plain(message)).encode()),
    ),
    relay_mutant(
        "relay-writes-surrogates",
        "All characters are written as bytes, lone surrogates too.",
        "RLY.up.wellformed",
        make=lambda: _bytes(
            lambda message: json.dumps(plain(message), ensure_ascii=False).encode(
                "utf-8", "surrogatepass"
            )
        ),
    ),
    relay_mutant(
        "relay-writes-line-ends",
        "Line ends in texts are written as bytes, and not escaped.",
        "RLY.up.wellformed",
        make=lambda: _bytes(lambda message: write(message).replace(rb"\n", b"\n")),
    ),
    relay_mutant(
        "relay-sends-batches",
        "A call is sent as a batch of one message.",
        "RLY.tools.complete.callable",
        "RLY.up.wellformed",
        make=lambda: _bytes(lambda message: write([message])),
    ),
    relay_mutant(
        "relay-rounds-integers",
        "Integers in arguments go through a double.",
        "RLY.up.arguments.integers",
        up=values(_as_double),
    ),
    relay_mutant(
        "relay-quotes-integers",
        "Integers beyond 2^53 in arguments become texts.",
        "RLY.up.arguments.integers",
        "RLY.up.arguments.kinds",
        up=values(_as_text),
    ),
    relay_mutant(
        "relay-nulls-large-numbers",
        "Numbers beyond a double become null.",
        "RLY.up.arguments.decimals",
        up=values(_null_beyond),
    ),
    relay_mutant(
        "relay-loses-small-numbers",
        "Numbers in arguments that are smaller than those of doubles become 0.",
        "RLY.up.arguments.decimals",
        up=values(
            lambda value: Number("0") if isinstance(value, Number) and not float(value) else value
        ),
    ),
    relay_mutant(
        "relay-rounds-decimals",
        "Decimals in arguments are rounded to 15 digits.",
        "RLY.up.arguments.decimals",
        up=values(_rounded),
    ),
    relay_mutant(
        "relay-cuts-depth",
        "What is nested deeper than 20 levels becomes `[Object]`.",
        "RLY.up.arguments.depth",
        up=arguments(lambda it: _cut(it, SHALLOW, lambda _: "[Object]")),
    ),
    relay_mutant(
        "relay-quotes-depth",
        "What is nested deeper than 50 levels becomes its JSON text.",
        "RLY.up.arguments.depth",
        up=arguments(lambda it: _cut(it, DEEP, lambda value: write(value).decode())),
    ),
    relay_mutant(
        "relay-drops-empty",
        "Members of arguments that are null or empty are lost.",
        "RLY.up.arguments.kinds",
        up=values(_without_empty),
    ),
    relay_mutant(
        "relay-makes-lists",
        "Empty objects in arguments become empty lists.",
        "RLY.up.arguments.kinds",
        up=values(lambda value: [] if value == {} else value),
    ),
    relay_mutant(
        "relay-guesses-types",
        "Texts in arguments that look like JSON become its values.",
        "RLY.up.arguments.kinds",
        up=values(lambda value: _guessed(value) if is_text(value) else value),
    ),
    relay_mutant(
        "relay-composes-letters",
        "Texts in arguments are normalised to composed letters.",
        "RLY.up.arguments.text",
        up=texts(lambda text: unicodedata.normalize("NFC", text)),
    ),
    relay_mutant(
        "relay-trims-texts",
        "Blanks at the ends of texts in arguments are lost.",
        "RLY.up.arguments.text",
        up=texts(str.strip),
    ),
    relay_mutant(
        "relay-drops-controls",
        "Control characters in arguments are lost.",
        "RLY.up.arguments.text",
        up=texts(
            lambda text: "".join(
                letter for letter in text if letter.isprintable() or letter in "\r\n\t "
            )
        ),
    ),
    relay_mutant(
        "relay-replaces-surrogates",
        "Lone surrogates in arguments are replaced.",
        "RLY.up.arguments.text",
        up=texts(_replaced),
    ),
    relay_mutant(
        "relay-drops-prototypes",
        "Members named as JavaScript's prototypes are lost.",
        "RLY.up.arguments.keys",
        up=values(lambda value: without(value, *PROTOTYPES) if isinstance(value, dict) else value),
    ),
    relay_mutant(
        "relay-drops-nameless",
        "Members with an empty name are lost.",
        "RLY.up.arguments.keys",
        up=values(lambda value: without(value, "") if isinstance(value, dict) else value),
    ),
)
