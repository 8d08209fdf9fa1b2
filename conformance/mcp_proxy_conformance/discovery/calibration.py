"""Byte identity of answers: what moves by itself is measured and cut out, the rest is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.reply import ToolReply
from mcp_proxy_conformance.wire.spans import Malformed, Node, Span

Step = str | int | tuple[str, str]
Path = tuple[Step, ...]
"""A concrete place: member names; array items by (server, name), by index where they have none."""

ABSENT, FALSE = "A", "F"
ORDERS = ("AFFAAFA", "AAFAFFA")
"""Each begins and ends with the absent form, so that a clock or a counter shows among these."""
CALM = ABSENT * 48
BEFORE, AFTER = 30, 50
SCALARS = frozenset({"string", "number", "boolean", "null"})
FIXED = frozenset({"name", "server"})

Cut = Callable[[Iterable[Path]], None]
"""Told the members that are not compared."""

Ask = Callable[[str], "Exact"]
"""One call in the form A (flag absent) or F (false), and its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """R of section 2: the result's bytes around its JSON text, and D, that text decoded."""

    result: bytes
    text: bytes

    @classmethod
    def of(cls, reply: ToolReply) -> Exact:
        """The bytes of an answer; of a refusal, those of its error object."""
        if reply.error is not None:
            refusal = spans.parse(reply.raw).get("error")
            return cls(result=refusal.raw if refusal else reply.raw, text=b"")
        return cls(result=reply.frame, text=reply.document)

    def parts(self) -> tuple[tuple[str, bytes], ...]:
        """Both strings of bytes under the names by which paths call them."""
        return (("text", self.text), ("result", self.result))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Difference:
    """Where an answer left what its equals say, and the bytes around it, V cut out.

    Attributes:
        at: The path of the innermost member that differs.
        offset: The first differing byte of what is left of the text or the result.
        usual: The bytes around it in the answers that it should equal.
        seen: The bytes around it in this answer.
    """

    at: str
    offset: int
    usual: bytes
    seen: bytes

    def __repr__(self) -> str:
        return f"<{self.at}, byte {self.offset}: usual {self.usual!r}, here {self.seen!r}>"


def differences(
    usual: Sequence[Exact], seen: Sequence[Exact], cut: Cut = lambda _: None
) -> tuple[Difference, ...]:
    """The first difference of each answer in `seen` from the `usual` ones, which are equals.

    `cut` is told V, the members that are left out of the comparison.

    Raises:
        Inconclusive: The usual ones differ in more than the values of single members.
    """
    moving = volatile(usual)
    cut(moving)
    for other in usual[1:]:
        if found := difference(usual[0], other, moving):
            raise _disagreement(f"{found!r}")
    pairs = (difference(usual[0], one, moving) for one in seen)
    return tuple(found for found in pairs if found)


def volatile(answers: Sequence[Exact]) -> frozenset[Path]:
    """V: the members whose bytes differ among answers that should be equal.

    Raises:
        Inconclusive: A name, a server, a member's name or the length of an array moves.
    """
    found: set[Path] = set()
    others = [answer for answer in answers[1:] if answer != answers[0]]
    first = [_tree(part) for _, part in answers[0].parts()] if others else []
    for answer in others:
        for tree, (name, part) in zip(first, answer.parts(), strict=True):
            found |= set(_moved(tree, _tree(part), (name,)))
    return frozenset(found)


def absent_against_false(ask: Ask, cut: Cut = lambda _: None) -> tuple[Difference, ...]:
    """Where the flag's false form is answered otherwise than its absent one.

    A difference counts only if it repeats, at the same place, in a second order, and if the
    absent form stays steady there for many more calls.
    """
    first = _asked(ask, ORDERS[0])
    if not differences(first[ABSENT], first[FALSE], cut):
        return ()
    second = _asked(ask, ORDERS[1])
    usual = [*first[ABSENT], *second[ABSENT], *_asked(ask, CALM)[ABSENT]]
    places = {found.at for found in differences(usual, first[FALSE])}
    return tuple(found for found in differences(usual, second[FALSE]) if found.at in places)


def told(path: Path) -> str:
    """A path as text: `text.tools[forge:zorvik_list].score`."""
    return "".join(_step_told(step) for step in path).removeprefix(".")


def _step_told(step: Step) -> str:
    if not isinstance(step, tuple):
        return f".{step}"
    server, name = step
    return f"[{name}]" if server in name else f"[{server}:{name}]"


def _asked(ask: Ask, order: str) -> dict[str, list[Exact]]:
    answers: dict[str, list[Exact]] = {ABSENT: [], FALSE: []}
    for form in order:
        answers[form].append(ask(form))
    return answers


def _disagreement(where: str) -> Inconclusive:
    return Inconclusive(f"the target does not agree with itself: {where}", cause="disagrees")


def _tree(part: bytes) -> Node:
    """The part's tree; what is no JSON document is one string without members."""
    try:
        return spans.parse(part)
    except Malformed:
        return Node("text", 0, len(part), part)


def children(node: Node) -> tuple[tuple[Step, Node], ...]:
    """What a node holds, each with the step that leads there."""
    if node.kind == "object":
        return tuple((member.key, member.value) for member in node.members)
    return tuple((_item_key(item, index), item) for index, item in enumerate(node.items))


def _item_key(item: Node, index: int) -> Step:
    name, server = item.get("name"), item.get("server")
    if name is None or name.kind != "string":
        return index
    return (server.value() if server and server.kind == "string" else "", name.value())


def _moved(one: Node, other: Node, path: Path) -> Iterator[Path]:
    if one.raw == other.raw:
        return
    if one.kind in SCALARS and other.kind in SCALARS and path[-1] not in FIXED and len(path) > 1:
        yield path
        return
    left, right = children(one), children(other)
    if one.kind != other.kind or [k for k, _ in left] != [k for k, _ in right] or not left:
        raise _disagreement(f"{told(path)} is {_short(one.raw)} and then {_short(other.raw)}")
    for (step, inner), (_, again) in zip(left, right, strict=True):
        yield from _moved(inner, again, (*path, step))


def difference(usual: Exact, seen: Exact, moving: frozenset[Path]) -> Difference | None:
    """The first difference outside of the moving members, None if there is none."""
    for (name, one), (_, other) in zip(usual.parts(), seen.parts(), strict=True):
        if one == other:
            continue
        left, right = _tree(one), _tree(other)
        kept = spans.cut(one, _spots(left, (name,), moving))
        again = spans.cut(other, _spots(right, (name,), moving))
        if kept != again:
            pairs = enumerate(zip(kept, again, strict=False))
            offset = next((i for i, (x, y) in pairs if x != y), min(len(kept), len(again)))
            around = slice(max(0, offset - BEFORE), offset + AFTER)
            place = told(_place(left, right, (name,), moving))
            return Difference(at=place, offset=offset, usual=kept[around], seen=again[around])
    return None


def _kept(node: Node, path: Path, moving: frozenset[Path]) -> bytes:
    """The node's bytes without those of its moving members."""
    spots = _spots(node, path, moving)
    return spans.cut(node.raw, [(s.start - node.start, s.end - node.start) for s in spots])


def _spots(node: Node, path: Path, moving: frozenset[Path]) -> Iterator[Span]:
    if path in moving and node.kind in SCALARS:
        yield node.span
    if not moving:
        return
    for step, inner in children(node):
        yield from _spots(inner, (*path, step), moving)


def _place(usual: Node, seen: Node, path: Path, moving: frozenset[Path]) -> Path:
    """The innermost member that differs, or that only one of the two has."""
    if usual.kind != seen.kind:
        return path
    for left, right in zip_longest(children(usual), children(seen)):
        if left is None or right is None or left[0] != right[0]:
            step = (right or left)[0]
            return (*path, step)
        inner = (*path, left[0])
        if _kept(left[1], inner, moving) != _kept(right[1], inner, moving):
            return _place(left[1], right[1], inner, moving)
    return path


def _short(raw: bytes) -> str:
    return repr(raw if len(raw) <= AFTER else raw[:AFTER] + b"...")
