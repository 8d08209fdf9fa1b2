"""The words that all renderings share: clauses, names of results, how to see them again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_proxy_conformance.catalogue.interpretation import Interpretation, interpretations
from mcp_proxy_conformance.catalogue.requirement import UnknownClause, catalogue
from mcp_proxy_conformance.report.document import Message, Report
from mcp_proxy_conformance.report.evidence import guilty
from mcp_proxy_conformance.verdict.deviations.waiving import Waiver
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

SENT = frozenset(
    {"content-type", "accept", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name",
     "authorization"}
)  # fmt: skip
"""Headers that change what a server answers; the others are of the connection."""
_NO_UTF8 = re.compile(r"\\x[89a-f][0-9a-f]")
"""How a report shows a byte that is no text; JSON has no such escape."""


def curl(message: Message) -> str:
    """The message of a report as one line; empty where the report does not hold all its bytes."""
    if message.cut or _NO_UTF8.search(message.body):
        return ""
    words = ["curl", "-sg", word(message.peer)]
    for name, value in message.headers.items():
        if name.lower() in SENT:
            words += ["-H", word(f"{name}: {value}" if value.strip() else f"{name};")]
    body = message.body
    if _is_plain(body):
        return " ".join([*words, "--data-raw", word(body)])
    return f"printf '{_octal(body)}' | {' '.join([*words, '--data-binary', '@-'])}"


def word(text: str) -> str:
    """The text as one word of a shell, on one line, without a character that steers anything."""
    if _is_plain(text):
        return text if shlex.quote(text) == text else quoted(text)
    return f"\"$(printf '{_octal(text)}')\""


def quoted(text: str) -> str:
    """The text in single quotes."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _is_plain(text: str) -> bool:
    """Whether it is shown as it is, wherever it is shown, and stays on its line."""
    return inert(text) == text and "\n" not in text and "\t" not in text


def _octal(text: str) -> str:
    """The text as a format of printf(1): what is not harmless there as octal bytes."""
    plain = (" " <= one <= "~" and one not in "'\\%-" for one in text)
    return "".join(
        one if keep else "".join(f"\\{byte:03o}" for byte in one.encode("utf-8", "replace"))
        for one, keep in zip(text, plain, strict=True)
    )


NAMING = ("command", "binary", "kind", "surface")
"""Members of a target file that say what is judged."""
OPEN = ("fail", "inconclusive", "error")
"""Verdicts whose results are told one by one."""
TOLD = (*OPEN, "waived")
"""The same, where deviations that were waived are told, too."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a clause asks, and where that is written."""

    text: str
    source: str


def sentence(clause_id: str) -> Sentence:
    """The sentence and source of a clause; of one that another version had, that it is unknown."""
    try:
        source = catalogue().source(clause_id)
        return Sentence(catalogue().clause(clause_id).text, f"{source.text} {source.at}")
    except UnknownClause:
        return Sentence("This version of the suite has no such clause.", "no source")


def needs_capability(clause_id: str) -> bool:
    """Whether the clause is judged because the target declares something; unknown ones are not."""
    try:
        return bool(catalogue().clause(clause_id).capability)
    except UnknownClause:
        return False


def rulings(clause_id: str) -> list[Interpretation]:
    """How the suite reads the sentence that the clause rests on, where it can be read otherwise."""
    return [one for one in interpretations() if clause_id in one.clauses]


def waived_by(result: Result, known: Sequence[Waiver]) -> Sequence[Waiver]:
    """The deviations that name a waived result: its check, its case, or one of its clauses."""
    if result.verdict != "waived":
        return []
    names = {result.check, result.case, result.name, *result.clauses}
    return [one for one in known if one.id in names and one.state == "used"]


def has_waived(report: Report) -> bool:
    """Whether the run rests on deviations."""
    return any(one.verdict == "waived" for one in report.clauses)


def requirement_of(clause_id: str) -> str:
    """The requirement of a clause; of one that another version had, the clause's own id."""
    try:
        return catalogue().owner(clause_id).id
    except UnknownClause:
        return clause_id


def again(result: Result) -> str:
    """How the result is seen again."""
    return f"the same command and --check {quoted(result.name)}"


def request(result: Result, report: Report) -> str:
    """The request that brought what was observed, else the last call; empty when there is none."""
    messages, places = report.messages, result.messages
    found = next((one.place for one in guilty(result, messages)), None)
    until = len(places) if found is None else places.index(found)
    asked = [messages[place] for place in places[:until] if _is_request(messages[place])]
    return curl(asked[-1]) if asked else ""


def line_of(result: Result, lines: Mapping[str, int]) -> int:
    """Where the target says that it can do what was judged, else where it is named, else 1."""
    able = any(needs_capability(one) for one in result.clauses)
    wanted = ("capabilities", *NAMING) if able else NAMING
    return next((lines[name] for name in wanted if name in lines), 1)


def profile_of(report: Report) -> str:
    """The profile with its version; of several, each with its own where the report tells them."""
    told = report.profile
    return told.name or f"{told.id}@{told.version}"


def target_of(report: Report) -> str:
    """The target, its version, and the wire on which the verdict was reached."""
    target = report.target
    wire = f", wire {target.wire}" if target.wire else ""
    return f"{target.kind} {target.version}".rstrip() + wire


def _is_request(message: Message) -> bool:
    sent = message.edge == "client" and message.direction == "sent"
    return sent and bool(message.body) and bool(message.headers)


def is_left_out(clause: ClauseVerdict) -> bool:
    """Whether a clause was not asked for in this run."""
    return clause.cause == "left_out"


def is_after_the_end(clause: ClauseVerdict) -> bool:
    """Whether the run ended before anything of the clause was looked at."""
    return clause.cause == "ended" and not clause.results
