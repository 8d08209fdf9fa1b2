"""Search in answers: schemas, remedies, repeated remediation texts; masking of names in texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.remediation import judge, mask, tells_user_act
from mcp_proxy_conformance.verdict.exchanges import Exactly

SHORT = 20
"""Characters; a shorter text matches whole strings only, not parts of them."""


def masked(bench: Bench, text: str, key: ToolKey) -> str:
    """Mask in a text the tool's and its server's names, and the tool's descriptions, also quoted.

    Descriptions are its own and those that a step of the world changes it to. The text names its
    exchange as before.
    """
    changed = [s.description for s in bench.world.steps if s.change == key.tool and s.description]
    says = (bench.tools[key].description, *changed)
    quoted = [
        form[1:-1] for description in says for form in (json.dumps(description), repr(description))
    ]
    names = (key.server, key.tool, *says, *quoted)
    own = mask(text, [f"{key.server}:{key.tool}", *names])
    return Exactly(own, text.message) if isinstance(text, Exactly) else own


def schemas(members: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of those members that hold a schema, by their name or their value.

    A flag, a number or a hash about a schema is not one; a schema may be sent as JSON text.
    """
    return tuple(
        name
        for name, value in members.items()
        if _is_schema(value) or ("schema" in name.lower() and _is_structured(value))
    )


def remedies(members: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of members with `remed` in their name, which a locked entry may not have.

    A member that is empty, a boolean or a status word is left out.
    """
    return tuple(
        name
        for name, value in members.items()
        if "remed" in name.lower()
        and value
        and not isinstance(value, bool)
        and value not in STATUSES
    )


def _is_structured(value: Any) -> bool:
    """Whether the value is a full object or array, or a text that begins like one."""
    is_json = isinstance(value, str) and value.lstrip().startswith(("{", "["))
    return bool(value) and (is_json or isinstance(value, dict | list))


def _is_schema(value: Any) -> bool:
    """Whether the value is an object with `properties` or the type `object`, as a schema is."""
    return isinstance(value, dict) and ("properties" in value or value.get("type") == "object")


def strings(value: Any) -> Iterator[str]:
    """Yield every string inside a JSON value, at any depth, but not the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def other_maps(answer: Answer, member: str) -> tuple[str, ...]:
    """Return where an answer has a second remediation map, as paths; empty without any.

    That is any other object that has, under a status word, the text that the answer's map (its
    member `member`) has under it. Structured content, which repeats the result, is not searched.
    """
    known = {
        s: t for s, t in (answer.remediation or {}).items() if isinstance(t, str) and t.strip()
    }
    if not known:
        return ()
    beside = {name: value for name, value in answer.body.items() if name != member}
    wrapping = answer.reply.value()
    around = {name: wrapping[name] for name in wrapping.keys() - {"content", "structuredContent"}}
    return (*_maps(beside, known, ""), *_maps(around, known, "result"))


def _maps(value: Any, known: Mapping[str, str], place: str) -> Iterator[str]:
    """Yield the path of each object in a value that has one of the known texts under its status.

    `place` is the path of the value itself.
    """
    if isinstance(value, Mapping):
        if any(repeated([text], value[word]) for word, text in known.items() if word in value):
            yield place
        for name, inner in value.items():
            yield from _maps(inner, known, f"{place}/{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _maps(inner, known, f"{place}/{number}")


def advice(bench: Bench, key: ToolKey, entry: Entry) -> tuple[str, ...]:
    """Return the texts of an entry, masked, that tell the user to lift the tool's lock.

    The tool's own texts are left out, and texts that only give a reason.
    """
    plain = (masked(bench, text, key) for text in strings(_beside_names(entry)))
    return tuple(text for text in plain if tells_user_act(text) and _is_remedy(text))


def _beside_names(entry: Entry) -> dict[str, Any]:
    """Return the members of an entry without its name, its server and its status."""
    return {n: v for n, v in entry.members.items() if n not in ("name", "server", "status")}


def _is_remedy(text: str) -> bool:
    """Whether the text is read as the remedy of at least one status."""
    return any(judge(text, status) == "conveys" for status in STATUSES)


def has_lines(text: str) -> bool:
    """Whether a text has a line break of any kind, U+2028 too, but for one at its end."""
    return len(text.splitlines()) > 1


def repeated(texts: Iterable[Any], value: Any) -> tuple[str, ...]:
    """Return those of the texts that occur in a string of a JSON value.

    A text of under 20 characters must be a whole string; blank ones and non-texts are left out.
    """
    contents = tuple(strings(value))
    spoken = [text for text in texts if isinstance(text, str) and text.strip()]
    return tuple(
        text
        for text in spoken
        if any(text == content or (len(text) >= SHORT and text in content) for content in contents)
    )
