"""Phrases that renderings share: clauses, causes, target, times, commands to reproduce."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_proxy_conformance.catalogue.interpretation import Interpretation, interpretations
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.report.document import Report, ReportedMessage
from mcp_proxy_conformance.report.evidence import guilty
from mcp_proxy_conformance.verdict.causes import RootCause
from mcp_proxy_conformance.verdict.coverage import MISSED, Coverage, Status
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

SENT = frozenset(
    {"content-type", "accept", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name",
     "authorization"}
)  # fmt: skip
"""Headers that change a server's answer; the others belong to the connection."""
YEAR_S = 366 * 24 * 3600
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00|Z)", re.ASCII)
_NO_UTF8 = re.compile(r"\\x[89a-f][0-9a-f]")
"""The escape of a byte that is not text, as a report shows it; JSON has no such escape."""


def curl(message: ReportedMessage) -> str:
    """Return a curl command that sends the message, with the headers that matter to a server.

    "" if the report does not hold all its bytes.
    """
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
    """Return the text quoted as one word of a shell command, on one line.

    Control characters are written by printf.
    """
    if _is_plain(text):
        return text if shlex.quote(text) == text else quoted(text)
    return f"\"$(printf '{_octal(text)}')\""


def quoted(text: str) -> str:
    """Return the text in single quotes, with those in it escaped, as a shell reads it."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _is_plain(text: str) -> bool:
    return inert(text) == text and "\n" not in text and "\t" not in text


def _octal(text: str) -> str:
    """Return the text escaped for printf(1): all bytes but harmless ASCII as three octal digits."""
    plain = (" " <= character <= "~" and character not in "'\\%-" for character in text)
    return "".join(
        character
        if keep
        else "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "replace"))
        for character, keep in zip(text, plain, strict=True)
    )


NAMING = ("command", "binary", "kind", "surface")
"""Members of a target file that name what is judged."""
OPEN = ("fail", "inconclusive", "error")
"""Verdicts whose results are shown one by one."""
TOLD = (*OPEN, "waived")
"""The same, with results that deviations waive."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """The text of a clause, and the place in the source text that it comes from."""

    text: str
    source: str


def sentence(clause_id: str) -> Sentence:
    """Return text and source of a clause; a note in their place if it is unknown."""
    clause = catalogue().clauses.get(clause_id)
    if clause is None:
        return Sentence("This version of the suite does not have this clause.", "no source")
    source = catalogue().source(clause_id)
    return Sentence(clause.text, f"{source.text} {source.at}")


MISSING: dict[Status, str] = {
    "masked": "masked by a failure",
    "unarmed": "out of reach here",
    "left_out": "left out",
    "capability": "beyond the declared capabilities",
    "excluded": "excluded by a constraint",
}
"""Why pairs of values were not looked at, by status, in the order in which they are shown."""


def covered(coverage: Coverage) -> str:
    """Return how many admissible pairs of a space were looked at, and why others were not."""
    whole, missed = coverage.admissible, coverage.missed
    percent = min(99, round(100 * coverage.looked_at / whole)) if missed else 100
    why = ", ".join(f"{missed[status]:,} {MISSING[status]}" for status in MISSED if missed[status])
    return (
        f"coverage of the space of {coverage.space} {coverage.version}: {coverage.looked_at:,} of"
        f" {whole:,} pairs ({percent} %){f': {why}' if why else ''}"
    )


def needs_capability(clause_id: str) -> bool:
    """Whether the clause needs a capability of the target; an unknown clause does not."""
    clause = catalogue().clauses.get(clause_id)
    return clause is not None and bool(clause.capability)


def interpretations_of(clause_id: str) -> list[Interpretation]:
    """Return the interpretations that name the clause, in order; [] for most."""
    return [
        interpretation
        for interpretation in interpretations()
        if clause_id in interpretation.clauses
    ]


def waived_by(result: Result, known: Sequence[Waiver]) -> Sequence[Waiver]:
    """Return the deviations in use that name a waived result or one of its clauses.

    [] if the result is not waived.
    """
    if result.verdict != "waived":
        return []
    names = {result.check, result.case, result.name, *result.clauses}
    return [waiver for waiver in known if waiver.id in names and waiver.state == "used"]


def has_waived(report: Report) -> bool:
    """Whether a clause of the report is waived by a deviation."""
    return any(clause.verdict == "waived" for clause in report.clauses)


def again(name: str, report: Report) -> str:
    """Return the command line that runs this check of a report again, with --check NAME.

    Without a stored command line it begins with "the same command". A name that is not a
    check's adds no option, since any run repeats it.
    """
    check = f"--check {shlex.quote(name)}" if name.startswith("test_") else ""
    before, after = command_of(report)
    if not before:
        return " and ".join(filter(None, ("the same command", check)))
    return " ".join(filter(None, (before, check, after)))


def command_of(report: Report) -> tuple[str, str]:
    """Return the stored command line of the run, as the parts before and after `--check NAME`.

    Both are "" if the report has none, or something else in its place.
    """
    match report.timing.get("command"):
        case [str(before), str(after)]:
            return before, after
    return "", ""


def causes_of(result: Result, report: Report) -> list[RootCause]:
    """Return the report's causes that list the result as a failure, or as kept open by them."""
    return [
        cause
        for cause in report.causes
        if result.name in cause.results or result.name in cause.open_results
    ]


def consequences(cause: RootCause) -> str:
    """Return a phrase on how many checks fail or are inconclusive by a cause, and which clauses."""
    until = "inconclusive until then" if cause.breaks else "inconclusive"
    clauses = (("fail", cause.breaks), (until, cause.leaves_open))
    lists = (f"{word}: {', '.join(names)}" for word, names in clauses if names)
    return "; ".join((verdicts("check", len(cause.results), len(cause.open_results)), *lists))


def verdicts(noun: str, failed: int, still: int) -> str:
    """Return "2 checks fail and 1 is inconclusive" of these numbers; a zero is left out.

    `noun` may be empty; "" if both are zero.
    """
    one, many = (f"{noun} ", f"{noun}s ") if noun else ("", "")
    parts = [counted(failed, f"{one}fails", f"{many}fail")] if failed else []
    if still:
        one, many = ("", "") if failed else (one, many)
        parts.append(counted(still, f"{one}is inconclusive", f"{many}are inconclusive"))
    return " and ".join(parts)


def counted(number: int, one: str, many: str) -> str:
    """Return "NUMBER NOUN", with `one` for 1 and `many` otherwise."""
    return f"{number} {one if number == 1 else many}"


def request(result: Result, report: Report) -> str:
    """Return a curl command for the HTTP request of the message that shows the failure.

    Without such a message, it is for the last request of all. "" without a request, or if the
    report does not hold all its bytes.
    """
    culprits = guilty(result, report.messages)
    places = [culprits[0].request] if culprits else result.messages[::-1]
    sent = [report.messages[place] for place in filter(None, places)]
    return next((curl(message) for message in sent if _is_request(message)), "")


def line_of(result: Result, lines: Mapping[str, int]) -> int:
    """Return the line of the target file to annotate for a result, by member in `lines`.

    `lines` maps members to their lines. It is that of `capabilities` if one of the result's clauses
    needs a capability, else of the first known member that names the target; 1 without any.
    """
    able = any(needs_capability(clause_id) for clause_id in result.clauses)
    wanted = ("capabilities", *NAMING) if able else NAMING
    return next((lines[name] for name in wanted if name in lines), 1)


def named(report: Report) -> str:
    """Return the target's name, or its kind if it has none, followed by its version if known."""
    target = report.target
    return f"{target.name or target.kind} {target.version}".strip()


def target_of(report: Report) -> str:
    """Return the target's name and version, its kind if that is another word, the wire if known."""
    target = report.target
    kind = f" ({target.kind})" if target.name and target.name != target.kind else ""
    wire = f", wire {target.wire}" if target.wire else ""
    return f"{named(report)}{kind}{wire}"


def taken(report: Report) -> str:
    """Return the declarations that were taken on the word of the target file, as TOML; else ""."""
    declared = report.target.declared.items()
    return ", ".join(f"{name} = {json.dumps(each, ensure_ascii=False)}" for name, each in declared)


def began(report: Report) -> str:
    """Return when the run began, in ISO 8601 and UTC; "" if the report has no such date."""
    date = report.timing.get("began")
    if not isinstance(date, str) or not _DATE.fullmatch(date):
        return ""
    try:
        datetime.fromisoformat(date)
    except ValueError:  # such as the 31st of February
        return ""
    return date


def lasted(report: Report) -> str:
    """Return how long the run took, as `48 s` or `3 min 20 s`; "" if not known or over a year."""
    seconds = report.timing.get("seconds")
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < YEAR_S:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _is_request(message: ReportedMessage) -> bool:
    sent = message.edge == "client" and message.direction == "sent"
    return sent and bool(message.body) and bool(message.headers)


def is_left_out(clause: ClauseVerdict) -> bool:
    """Whether the clause was outside the part of the profile that the run was asked for."""
    return clause.cause == "left_out"


def is_after_the_end(clause: ClauseVerdict) -> bool:
    """Whether the run ended before anything was observed of the clause."""
    return clause.cause == "ended" and not clause.results
