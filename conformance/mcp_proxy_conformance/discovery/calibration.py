"""Calibration: members that vary between answers to equal requests, cut out to compare bytes."""

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
"""Path of a member: member names; array items by (server, name), else by index."""

ABSENT, FALSE = "A", "F"
ORDERS = ("AFFAAFA", "AAFAFFA")
"""Each begins and ends with the absent form, so that a clock or a counter shows in that form."""
CALM = ABSENT * 48
BEFORE, AFTER = 30, 50
SCALARS = frozenset({"string", "number", "boolean", "null"})
FIXED = frozenset({"name", "server"})
CUT_OUT = b'"{volatile}"'
"""Stands in a stored answer for the value of a member that moves."""

Cut = Callable[[Iterable[Path]], None]
"""Callback that receives the members that are not compared."""

Ask = Callable[[str], "Exact"]
"""Sends one call in the form A (flag absent) or F (false), and returns its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """An answer's exact bytes: R, the result around its JSON text, and D, that text decoded."""

    result: bytes
    text: bytes

    @classmethod
    def of(cls, reply: ToolReply) -> Exact:
        """Return the bytes of a reply; of a refusal, those of its error object.

        Raises ProtocolFault if a result has no text, or several, that could be its
        document.
        """
        if reply.error is not None:
            refusal = spans.parse(reply.raw).get("error")
            return cls(result=refusal.raw if refusal else reply.raw, text=b"")
        return cls(result=reply.frame, text=reply.document)

    def parts(self) -> tuple[tuple[str, bytes], ...]:
        """Return ("text", D) and ("result", R), the names and bytes of both parts."""
        return (("text", self.text), ("result", self.result))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ByteDifference:
    """The first difference of an answer from ones it should equal, without V, what varies in these.

    Attributes:
        at: The path of the innermost member that differs.
        offset: The first differing byte of the text or the result without V.
        usual: The bytes around it in the answers that it should equal.
        actual: The bytes around it in this answer.
    """

    at: str
    offset: int
    usual: bytes
    actual: bytes

    @property
    def place(self) -> str:
        """The path of the member and the number of the byte at which the answers differ."""
        return f"{self.at} near byte {self.offset}"

    def __repr__(self) -> str:
        """Render the place, the bytes there, and the usual ones."""
        usual, here = (text.decode("utf-8", "replace") for text in (self.usual, self.actual))
        return f"in {self.at} from byte {self.offset} on: {here}; usually: {usual}"


def differences(
    usual: Sequence[Exact], actual: Sequence[Exact], cut: Cut = lambda _: None
) -> tuple[ByteDifference, ...]:
    """Return the first difference of each answer of `actual` from the equal ones of `usual`.

    Answers without one are left out; `cut` is called with the members that move among `usual`
    and are not compared. Inconclusive if these differ in more than the values of single
    members.
    """
    moving = volatile(usual)
    cut(moving)
    for other in usual[1:]:
        if disagreement := difference(usual[0], other, moving):
            raise _disagreement(f"{disagreement!r}")
    pairs = (difference(usual[0], answer, moving) for answer in actual)
    return tuple(result for result in pairs if result)


def volatile(answers: Sequence[Exact]) -> frozenset[Path]:
    """Return the paths of scalars whose bytes differ among answers that should be equal.

    Inconclusive if a name, a server, a member's name or the length of an array differs.
    """
    paths: set[Path] = set()
    others = [answer for answer in answers[1:] if answer != answers[0]]
    first = [_tree(part) for _, part in answers[0].parts()] if others else []
    for answer in others:
        for tree, (name, part) in zip(first, answer.parts(), strict=True):
            paths |= set(_moved(tree, _tree(part), (name,)))
    return frozenset(paths)


def still(exact: Exact, moving: frozenset[Path]) -> Exact:
    """Return a copy of the answer with a placeholder for the value at each path in `moving`."""
    parts = []
    for name, part in exact.parts():
        raw = part
        for spot in sorted(_spots(_tree(part), (name,), moving), reverse=True):
            raw = spans.replace(raw, spot, CUT_OUT)
        parts.append(raw)
    text, result = parts
    return Exact(result=result, text=text)


def absent_against_false(ask: Ask, cut: Cut = lambda _: None) -> tuple[ByteDifference, ...]:
    """Return the differences of answers with the flag false from those with the flag absent.

    `ask` sends the request in a form, A (absent) or F (false): 7 times or, if any answer differs,
    62. A difference counts if it repeats at the same place in a second order, and the absent form
    does not differ there. Inconclusive if answers without the flag differ in more than single
    values.
    """
    first = _answers(ask, ORDERS[0])
    if not differences(first[ABSENT], first[FALSE], cut):
        return ()
    second = _answers(ask, ORDERS[1])
    usual = [*first[ABSENT], *second[ABSENT], *_answers(ask, CALM)[ABSENT]]
    places = {differing.at for differing in differences(usual, first[FALSE])}
    return tuple(
        differing for differing in differences(usual, second[FALSE]) if differing.at in places
    )


def path_in_words(path: Path) -> str:
    """Render a path as text: `text.tools[forge:zorvik_list].score`, and an index as `.3`.

    An entry is only `[name]` if the name contains the server's.
    """
    return "".join(_step_text(step) for step in path).removeprefix(".")


def _step_text(step: Step) -> str:
    """Render one step of a path: `.member`, `.3`, or for an entry `[server:name]`.

    It is `[name]` if the name contains the server's.
    """
    if not isinstance(step, tuple):
        return f".{step}"
    server, name = step
    return f"[{name}]" if server in name else f"[{server}:{name}]"


def _answers(ask: Ask, order: str) -> dict[str, list[Exact]]:
    """Call `ask` with each letter of the order, A or F; return the answers by letter."""
    answers: dict[str, list[Exact]] = {ABSENT: [], FALSE: []}
    for form in order:
        answers[form].append(ask(form))
    return answers


def _disagreement(where: str) -> Inconclusive:
    """Return the Inconclusive for equal requests whose answers differ as `where` says."""
    return Inconclusive(f"the target does not agree with itself: {where}", cause="disagrees")


def _tree(part: bytes) -> Node:
    """Return the root node of a part; one that is not JSON is a single node of kind text."""
    try:
        return spans.parse(part)
    except Malformed:
        return Node("text", 0, len(part), part)


def children(node: Node) -> tuple[tuple[Step, Node], ...]:
    """Return (path step, node) of each member or item of a node; empty for a scalar."""
    if node.kind == "object":
        return tuple((member.key, member.value) for member in node.members)
    return tuple((_item_key(item, index), item) for index, item in enumerate(node.items))


def _item_key(item: Node, index: int) -> Step:
    """Return the path step of an array's item: (server, name), or its index without a name."""
    name, server = item.get("name"), item.get("server")
    if name is None or name.kind != "string":
        return index
    return (server.value() if server and server.kind == "string" else "", name.value())


def _moved(node: Node, other: Node, path: Path) -> Iterator[Path]:
    """Yield the paths of scalars that differ between two nodes that should be equal.

    Inconclusive where kinds, members or numbers of items differ, or a `name`, a `server`, or a
    document that is one scalar.
    """
    if node.raw == other.raw:
        return
    if node.kind in SCALARS and other.kind in SCALARS and path[-1] not in FIXED and len(path) > 1:
        yield path
        return
    left, right = children(node), children(other)
    if node.kind != other.kind or [k for k, _ in left] != [k for k, _ in right] or not left:
        raise _disagreement(
            f"{path_in_words(path)} is first {_short(node.raw)}, then {_short(other.raw)}"
        )
    for (step, inner), (_, again) in zip(left, right, strict=True):
        yield from _moved(inner, again, (*path, step))


def difference(usual: Exact, actual: Exact, moving: frozenset[Path]) -> ByteDifference | None:
    """Return the first difference of `actual` from `usual`, None without any.

    Members at the paths in `moving` are not compared; the text is compared before the result.
    """
    for (name, part), (_, other) in zip(usual.parts(), actual.parts(), strict=True):
        if part == other:
            continue
        left, right = _tree(part), _tree(other)
        kept = spans.cut(part, _spots(left, (name,), moving))
        again = spans.cut(other, _spots(right, (name,), moving))
        if kept != again:
            pairs = enumerate(zip(kept, again, strict=False))
            offset = next((i for i, (x, y) in pairs if x != y), min(len(kept), len(again)))
            around = slice(max(0, offset - BEFORE), offset + AFTER)
            place = path_in_words(_place(left, right, (name,), moving))
            return ByteDifference(at=place, offset=offset, usual=kept[around], actual=again[around])
    return None


def _kept(node: Node, path: Path, moving: frozenset[Path]) -> bytes:
    """Return the node's bytes without the values in it that vary between equal answers."""
    spots = _spots(node, path, moving)
    return spans.cut(node.raw, [(s.start - node.start, s.end - node.start) for s in spots])


def _spots(node: Node, path: Path, moving: frozenset[Path]) -> Iterator[Span]:
    """Yield the spans, in the whole document, of the scalars in a node whose paths are in `moving`.

    `path` is the node's own.
    """
    if path in moving and node.kind in SCALARS:
        yield node.span
    if not moving:
        return
    for step, inner in children(node):
        yield from _spots(inner, (*path, step), moving)


def _place(usual: Node, actual: Node, path: Path, moving: frozenset[Path]) -> Path:
    """Return the path of the innermost member that differs, or that only one of two nodes has.

    It is `path`, the nodes' own, if kinds differ or no single member does. Values at the paths in
    `moving` are not compared.
    """
    if usual.kind != actual.kind:
        return path
    for left, right in zip_longest(children(usual), children(actual)):
        if left is None or right is None or left[0] != right[0]:
            step = (right or left)[0]
            return (*path, step)
        inner = (*path, left[0])
        if _kept(left[1], inner, moving) != _kept(right[1], inner, moving):
            return _place(left[1], right[1], inner, moving)
    return path


def _short(raw: bytes) -> str:
    """Return the first 50 bytes as text, with dots if more follow."""
    return (raw if len(raw) <= AFTER else raw[:AFTER] + b"...").decode("utf-8", "replace")
