"""Command line of a relay that alters messages at random, both ways; no two seeds alter alike."""

import random

import click

from mcp_proxy_mutants.fidelity.changed import ChangedRemote, by_message
from mcp_proxy_mutants.fidelity.in_front import in_front
from mcp_proxy_mutants.fidelity.json_text import Json, Number
from mcp_relay_reference.__main__ import serve

DEPTHS, DIGITS = (300, 600), 5000


def _nested(levels: int) -> Json:
    value: Json = []
    for _ in range(levels):
        value = [value]
    return value


NONSENSE: tuple[Json, ...] = (
    None, True, False, "", "x", "\ud800", [], {}, [None], [{}], {"": None}, {"x": {"x": [1]}},
    *map(Number, ("0", "-1.5", "1e400", "NaN", "9" * DIGITS)), *map(_nested, DEPTHS),
)  # fmt: skip
SPARED = {"initialize": 0.02, "notifications/initialized": 0.02, "tools/list": 0.15}
"""The part of the rate by which messages are altered without which little would follow."""


class Alteration:
    """Changes of messages: members lost or renamed, items lost, values replaced by nonsense."""

    def __init__(self, seed: int, rate: float) -> None:
        """Alter that part of the messages."""
        self._random, self._rate = random.Random(seed), rate  # noqa: S311 - no secret

    def altered(self, message: dict[str, Json], asked: dict[str, Json] | None = None) -> Json:
        """Return a message, altered or not: its params, result or error, or a member beside."""
        method = str(message.get("method") or (asked or {}).get("method"))
        if self._random.random() > self._rate * SPARED.get(method, 1):
            return message
        name = next((each for each in ("params", "result", "error") if each in message), "")
        if not name or self._random.random() < self._rate:
            return self._inside(message)
        return message | {name: self._inside(message[name])}

    def _inside(self, value: Json) -> Json:
        if self._random.random() < 0.8 and value and isinstance(value, dict | list):  # noqa: PLR2004
            return self._member(value) if isinstance(value, dict) else self._item(value)
        return self._random.choice(NONSENSE)

    def _member(self, value: dict[str, Json]) -> Json:
        name = self._random.choice([*value])
        kept = {each: inner for each, inner in value.items() if each != name}
        match self._random.randrange(6):
            case 0 | 1:
                return kept
            case 2:
                return kept | {f"{name}_": value[name]}
        return value | {name: self._inside(value[name])}

    def _item(self, value: list[Json]) -> Json:
        at = self._random.randrange(len(value))
        middle = [] if self._random.randrange(4) == 0 else [self._inside(value[at])]
        return [*value[:at], *middle, *value[at + 1 :]]


@click.command()
@click.option("--port", type=int, required=True)
@click.option("--upstream-url", required=True)
@click.option("--seed", type=int, required=True)
@click.option("--rate", type=float, required=True, help="The part of the messages, from 0 to 1.")
def main(port: int, upstream_url: str, seed: int, rate: float) -> None:
    """Relay one upstream over HTTP, altering messages at random."""
    change = Alteration(seed, rate).altered
    upstream = ChangedRemote(upstream_url, {}, by_message(change, change))
    serve(in_front(down=change)(upstream), port)


if __name__ == "__main__":
    main()
