"""Differences between observed and allowed values of findings, and the sentences made of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import UnknownClause, catalogue
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import MASKED_NAME, Finding

MOST, WIDTH = 12, 240
NOT_LISTED = "not listed"
_NAME = re.compile(r"[A-Za-z](?:[\w.:-]{0,78}[\w-])?")


@dataclass(frozen=True, slots=True)
class Difference:
    """A place in which observed and allowed values differ, both as they are shown.

    `path` is empty for the whole observation, `allowed` where nothing is allowed; both values are
    empty where the path says it all. `texts` are the observed strings, as the target wrote them.
    """

    path: str
    observed: str
    allowed: str
    texts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return `path: observed; allowed: allowed`, without the parts that are empty."""
        values = "; allowed: ".join(filter(None, (self.observed, self.allowed)))
        return ": ".join(filter(None, (self.path, values)))


def sentences(findings: Sequence[Finding]) -> list[str]:
    """Return lines on findings: the clause's `broken` phrase, and each place that differs.

    The first place is in the line of the phrase, each other one in a line of its own. At most
    twelve; a last line counts the rest.
    """
    lines: list[str] = []
    for head, group in groupby(findings[:MOST], key=lambda finding: wrong(finding.clauses)):
        places = [str(difference) for difference in differences(tuple(group))]
        lines += _joined(head, [place for place in places if place])
    rest = len(lines[MOST:]) + len(findings[MOST:])
    noun = "difference" if rest == 1 else "differences"
    return [*lines[:MOST], *([f"... and {rest} more {noun}"] if rest else [])]


def differences(findings: Sequence[Finding]) -> list[Difference]:
    """Return the differences of these findings, in order: one per differing part of a value."""
    return [difference for finding in findings for difference in _of_finding(finding)]


def wrong(clauses: tuple[str, ...]) -> str:
    """Return the `broken` phrase of the first clause; "" without one, or if it is unknown."""
    try:
        return catalogue().clause(clauses[0]).broken if clauses else ""
    except UnknownClause:
        return ""


def _joined(head: str, places: list[str]) -> list[str]:
    first = ": ".join(filter(None, (head, *places[:1])))
    return [line for line in (first, *places[1:]) if line]


def _of_finding(finding: Finding) -> Iterator[Difference]:
    """Yield the differences of one finding: one for each part of its values that differs.

    A `described` one, whose allowed side is a phrase, yields one: the observed value, "nothing"
    for None, against the phrase. In a finding about tools, "absent" is shown as "not listed".
    """
    observed, allowed, path = _plain(finding.observed), _plain(finding.allowed), _place(finding)
    if finding.about:
        observed, allowed = _placed(observed), _placed(allowed)
    if finding.described and isinstance(allowed, str):
        shown = "nothing" if observed is None else _short(observed)
        yield Difference(path, shown, _cut(allowed), _texts(observed))
    else:
        yield from _differences(path, observed, allowed)


def _place(finding: Finding) -> str:
    views = ", ".join(filter(None, finding.views))
    also = "also " if "" in finding.views else ""
    return f"{finding.path} ({also}{views})".strip() if views else finding.path


def _placed(value: Any) -> Any:
    if isinstance(value, list):
        return [_placed(inner) for inner in value]
    return NOT_LISTED if value == "absent" else value


def _differences(path: str, observed: Any, allowed: Any) -> Iterator[Difference]:
    """Yield the differences of two plain values: of objects member by member, of lists in one.

    Two truth values give the path alone; an object where nothing is allowed, each of its members
    against None. `path` is the place of the values, which differ.
    """
    if isinstance(observed, dict) and isinstance(allowed, dict) and allowed:
        for steps, now, before in _changes(observed, allowed):
            yield from _differences(" / ".join(filter(None, (path, *steps))), now, before)
    elif isinstance(observed, list) and isinstance(allowed, list):
        yield _of_lists(path, observed, allowed)
    elif isinstance(observed, bool) and isinstance(allowed, bool) and path:
        yield Difference(path, "", "")
    elif isinstance(observed, dict) and observed and allowed in (None, {}):
        for name, value in observed.items():
            yield from _differences(" / ".join(filter(None, (path, name))), value, None)
    else:
        values = "nothing" if observed is None else _short(observed)
        yield Difference(path, values, _choices(observed, allowed), _texts(observed))


def _choices(observed: Any, allowed: Any) -> str:
    """Return the allowed value as text; "" for None, [] and {}.

    A list is joined by `or`, as a choice, if the observation is not a list.
    """
    if allowed in (None, [], {}):
        return ""
    if isinstance(allowed, list) and not isinstance(observed, list):
        return " or ".join(map(_short, allowed))
    return _short(allowed)


def _of_lists(path: str, observed: list[Any], allowed: list[Any]) -> Difference:
    """Return the difference of two lists: the items too many, and the missing ones.

    Without any, only the order differs, and both lists are given whole. The strings of the
    Difference's `texts` are those in items too many.
    """
    seen, due = Counter(map(_short, observed)), Counter(map(_short, allowed))
    surplus, missing = list((seen - due).elements()), list((due - seen).elements())
    texts = tuple(text for value in observed if _short(value) in surplus for text in _texts(value))
    if not (surplus or missing):
        return Difference(path, _cut(", ".join(map(_short, observed))),
                          _cut(", ".join(map(_short, allowed))), texts)  # fmt: skip
    separator = "; " if any(isinstance(value, list) for value in (*observed, *allowed)) else ", "
    beyond = ("not allowed: " if allowed else "") + _cut(separator.join(surplus))
    lacking = f"missing: {_cut(separator.join(missing))}"
    parts = [beyond] * bool(surplus) + [lacking] * bool(missing)
    return Difference(path, "; ".join(parts), "", texts)


def _changes(observed: Any, allowed: Any) -> list[tuple[list[str], Any, Any]]:
    """Return (path's steps, observed, allowed) for each change between two objects, sorted.

    A value that one of them lacks is None.
    """
    # deepdiff takes a fifth of a second to import, and a green run never needs it
    from deepdiff import DeepDiff  # noqa: PLC0415
    from deepdiff.helper import NotPresent  # noqa: PLC0415

    def side(value: Any) -> Any:
        return None if isinstance(value, NotPresent) else value

    tree = DeepDiff(allowed, observed, view="tree", threshold_to_diff_deeper=0)
    paths = [
        ([str(step) for step in change.path(output_format="list")], change)
        for changes in tree.values()
        for change in changes
    ]
    paths.sort(key=lambda each: each[0])
    return [(path, side(change.t2), side(change.t1)) for path, change in paths]


def _texts(value: Any) -> tuple[str, ...]:
    """Return the strings in a plain value: itself, or those in its lists at any depth.

    Those in objects are left out.
    """
    if isinstance(value, list):
        return tuple(text for inner in value for text in _texts(inner))
    return (value,) if isinstance(value, str) else ()


def _plain(value: Any) -> Any:
    """Return a value as dicts, lists, texts and numbers: sets sorted, bytes decoded, others by str.

    A named tuple, and every key, becomes text.
    """
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((_plain(inner) for inner in value), key=str)
    if hasattr(value, "_fields"):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _short(value: Any) -> str:
    """Return a value as a reader sees it: a name or JSON as it is, other text quoted; cut at 240.

    None is "nothing", an empty list or dict "none", a masked name "<name>".
    """
    if isinstance(value, str) and (value == NOT_LISTED or _NAME.fullmatch(value)):
        return value
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return _cut(", ".join(map(_short, value)) or "none")
    if isinstance(value, dict):
        return _cut(
            "; ".join(f"{name}: {_short(inner)}" for name, inner in value.items()) or "none"
        )
    if isinstance(value, str) and not _is_json(value):
        return _quoted(value).replace(MASKED_NAME, "<name>")
    text = inert(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _cut(text).replace(MASKED_NAME, "<name>")


def _quoted(text: str) -> str:
    """Return the text in quotation marks; the first part of one that would be longer than 240."""
    part = text[:WIDTH]
    while len(quoted := json.dumps(part, ensure_ascii=False)) > WIDTH + len('""'):
        part = part[: len(part) * 7 // 8]
    return quoted if part == text else f"{quoted}... ({len(text)} characters)"


def _is_json(text: str) -> bool:
    try:
        return text[:1] in ("{", "[") and "\n" not in text and bool(json.loads(text))
    except (ValueError, RecursionError):
        return False


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}... ({len(text)} characters)"
