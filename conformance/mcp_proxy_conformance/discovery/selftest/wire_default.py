"""Mutants that rewrite default answers, whose request did not set the flag: FR-002, FR-001."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.selftest.edits import (
    Document,
    locked,
    tools,
    usual,
    wire,
    with_tools,
)
from mcp_proxy_conformance.discovery.selftest.exchange import (
    Json,
    WireExchange,
    WireFault,
    document_of,
)
from mcp_proxy_conformance.wire import spans

SAME = "FR-002.absent-is-false"
Spell = Callable[[str], str]


def false(
    spell: Spell, when: Callable[[WireExchange], bool] = lambda _: True
) -> Callable[..., str]:
    """Return a hook that respells answers to the flag false by `spell`, where `when` holds.

    It returns other texts unchanged.
    """
    return lambda x, text: spell(text) if x.false and when(x) else text


def spaced(text: str) -> str:
    """Return the JSON text with one more space, which changes no value."""
    return text.replace("{", "{ ", 1)


def swapped(text: str) -> str:
    """Return the JSON object's text with its first two members swapped, all else byte for byte.

    It must have at least two members.
    """
    raw = text.encode()
    first, second, *_ = spans.parse(raw).members
    head = raw[first.key_span.start : first.value.end]
    tail = raw[second.key_span.start : second.value.end]
    between = raw[first.value.end : second.key_span.start]
    whole = (first.key_span.start, second.value.end)
    return spans.replace(raw, whole, tail + between + head).decode()


def _nodes(node: spans.Node) -> list[spans.Node]:
    """Return this JSON node and every node inside it."""
    inner = [*node.items, *(member.value for member in node.members)]
    return [node, *(below for child in inner for below in _nodes(child))]


def respelled(text: str) -> str:
    """Return the JSON text with its first whole number as a fraction, such as 1.0 for 1.

    Unchanged without a whole number.
    """
    raw = text.encode()
    whole = [n for n in _nodes(spans.parse(raw)) if n.kind == "number" and n.raw.isdigit()]
    return (spans.replace(raw, whole[0].span, whole[0].raw + b".0") if whole else raw).decode()


def escaped(text: str) -> str:
    """Return the JSON text with the first letter of one string escaped, which changes no value.

    It is the first string that begins with a letter; unchanged without any.
    """
    raw = text.encode()
    texts = [n for n in _nodes(spans.parse(raw)) if n.kind == "string" and n.raw[1:2].isalpha()]
    if not texts:
        return text
    start = texts[0].start + 1
    return spans.replace(raw, (start, start + 1), b"\\u%04x" % raw[start]).decode()


def member(text: str) -> str:
    """Return the JSON object's text with one more member, `locked_tools_known`, at its end."""
    return text.rstrip()[:-1] + ',"locked_tools_known":true}'


def every_fifth(x: WireExchange) -> bool:
    """Whether this is the fifth, tenth, … call of this function for the started target."""
    calls: Iterator[int] = x.memory.setdefault("calls", count(1))
    return next(calls) % 5 == 0


def _spaced_after_true(x: WireExchange, text: str) -> str:
    """Add a space to an answer to the flag false, if the same query came with true before.

    Only queries of the same agent count. Other texts stay.
    """
    flagged: set[tuple[str, str]] = x.memory.setdefault("flagged", set())
    if x.flagged:
        flagged.add((x.agent, x.query))
    return spaced(text) if x.false and (x.agent, x.query) in flagged else text


def _with_structured_content(x: WireExchange, result: Json) -> Json | None:
    """With the flag false, add the answer's JSON object as `structuredContent`; else None."""
    return result | {"structuredContent": document_of(result)} if x.false else None


def _with_other_is_error(x: WireExchange, result: Json) -> Json | None:
    """With the flag false, remove `isError`, or add it as false if it is missing.

    None (no change) for other requests.
    """
    if not x.false:
        return None
    rest = {name: value for name, value in result.items() if name != "isError"}
    return rest if "isError" in result else rest | {"isError": False}


def _refused(x: WireExchange, result: Json) -> Json | None:
    """With the flag false, replace the result with an error; else None, no change."""
    refused = {"content": [{"type": "text", "text": f"{FLAG} must be left out."}], "isError": True}
    return result | refused if x.false else None


def _empty_section(x: WireExchange, answer: Document) -> Document:
    """Add an empty list of locked tools."""
    return answer | {x.surface.members.disabled: []}


def _with_section(x: WireExchange, answer: Document) -> Document | None:
    """Add the locked section and the remediation map that the flag would bring, if any."""
    flagged = x.revealing(limit=x.limit)
    names = x.surface.members
    return answer | {n: flagged[n] for n in (names.disabled, names.remediation) if n in flagged}


def _with_map(x: WireExchange, answer: Document) -> Document:
    """Add the remediation map, without the locked section, that the target gives with the flag."""
    name = x.surface.members.remediation
    flagged = x.revealing(limit=x.limit)
    return answer | ({name: flagged[name]} if name in flagged else {})


def _locked_among_callables(x: WireExchange, answer: Document) -> Document:
    """Append the locked entries that the target gives with the flag to the callable ones."""
    return with_tools(x, answer, [*tools(x, answer), *locked(x, x.revealing(limit=x.limit))])


def _with_locked_names(x: WireExchange, answer: Document) -> Document:
    """Add, as `see_also`, the names of the locked tools that the flag would reveal, if any."""
    entries = locked(x, x.revealing(limit=x.limit))
    return answer | {"see_also": [entry["name"] for entry in entries]} if entries else answer


def _with_locked_descriptions(x: WireExchange, answer: Document) -> Document:
    """Add, as `similar`, the descriptions of the locked tools that the flag reveals, if any."""
    entries = locked(x, x.revealing(limit=x.limit))
    return (
        answer | {"similar": [entry.get("description") for entry in entries]} if entries else answer
    )


def _shortened(x: WireExchange, answer: Document) -> Document | None:
    """With the flag false, remove the last callable entry if there are several.

    None (no change) otherwise.
    """
    entries = tools(x, answer)
    return with_tools(x, answer, entries[:-1]) if x.false and len(entries) > 1 else None


def _noteless(x: WireExchange, answer: Document) -> Document | None:
    """With the flag false, remove the note; else None, no change."""
    note = x.surface.members.note
    return {name: value for name, value in answer.items() if name != note} if x.false else None


FAULTS: tuple[WireFault, ...] = (
    wire("false-spaced", "With the flag false, the answer has one more space.",
         SAME, spelled=false(spaced)),
    wire("false-swapped", "With the flag false, two members are swapped.",
         SAME, spelled=false(swapped)),
    wire("false-member", "With the flag false, the answer has one more member.",
         SAME, spelled=false(member)),
    wire("false-fraction", "With the flag false, a number such as 1 is written as 1.0.",
         SAME, spelled=false(respelled)),
    wire("false-escaped", "With the flag false, one letter is escaped.",
         SAME, spelled=false(escaped)),
    wire("false-newline", "With the flag false, the answer ends with a line break.", SAME,
         spelled=false("{}\n".format)),
    wire("false-structured", "With the flag false, structuredContent is added.",
         SAME, result=_with_structured_content),
    wire("false-marked", "With the flag false, isError is added or removed.", SAME,
         result=_with_other_is_error),
    wire("false-refused", "A request with the flag false is answered with an error.",
         SAME, result=_refused),
    wire("false-shortened", "With the flag false, the last of several callable tools is missing.",
         SAME, document=_shortened),
    wire("false-noteless", "With the flag false, the note is missing.", SAME, document=_noteless),
    wire(
        "false-spaced-at-one", "With the flag false and limit 1, the answer has one more space.",
        SAME,
        spelled=false(spaced, lambda x: x.limit == 1),
    ),
    wire(
        "false-spaced-for-names",
        "With the flag false and a _ in the query, the answer has one more space.",
        SAME, spelled=false(spaced, lambda x: "_" in x.query),
    ),
    wire(
        "false-spaced-for-agents", "With the flag false, answers to agents have one more space.",
        SAME,
        spelled=false(spaced, lambda x: bool(x.agent)),
    ),
    wire(
        "false-spaced-at-times", "Every fifth answer to the flag false has one more space.", SAME,
        spelled=false(spaced, every_fifth),
    ),
    wire(
        "false-spaced-after-true",
        "After the same query with the flag true, the flag false adds one space.",
        SAME, spelled=_spaced_after_true,
    ),
    wire(
        "false-is-true", "The flag false is treated as true.", SAME, "FR-001.default-off",
        instead=lambda x: x.again(**{FLAG: True}) if x.false else None,
    ),
    wire(
        "always-true", "Locked tools are listed whether asked for or not.", "FR-001.default-off",
        "FR-002.no-section", instead=lambda x: x.again(**{FLAG: True}) if x.usual else None,
    ),
    wire(
        "empty-section", "Every default answer has an empty locked section.", "FR-002.no-section",
        "FR-001.default-off", document=usual(_empty_section),
    ),
    wire(
        "section-unasked", "Default answers have the locked section.", "FR-002.no-section",
        "FR-001.default-off", document=usual(_with_section),
    ),
    wire(
        "map-unasked", "Default answers have the remediation map.", "FR-002.no-section",
        document=usual(_with_map),
    ),
    wire(
        "locked-among-callables", "Default answers list locked tools as callable ones.",
        "FR-001.default-off", "FR-002.no-locked-names", document=usual(_locked_among_callables),
    ),
    wire(
        "names-unasked", "Default answers name locked tools in a separate member.",
        "FR-002.no-locked-names", document=usual(_with_locked_names),
    ),
    wire(
        "descriptions-unasked", "Default answers contain the descriptions of locked tools.",
        "FR-002.no-locked-names", document=usual(_with_locked_descriptions),
    ),
)  # fmt: skip
