"""Brief JSON form of a report, for a record to keep: only the messages that its failures need."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mcp_proxy_conformance.report.document import Report, ReportedMessage, plain
from mcp_proxy_conformance.report.evidence import ShownMessage, exchange
from mcp_proxy_conformance.report.phrases import SENT, TOLD
from mcp_proxy_conformance.verdict.credentials import PLANTED
from mcp_proxy_conformance.verdict.redaction import REDACTED
from mcp_proxy_conformance.verdict.result import Result

WHOLE = 1
"""Results of a first clause that keep their messages; further ones say what they found."""
OPTIONAL = (
    "cause", "hint", "needs", "lacks", "findings", "observed", "unseen", "unread", "pinned",
    "evidence", "cut", "messages", "blame", "reproduce",
)  # fmt: skip
"""Members of a clause or a result that may be missing when they are empty."""
OF_FINDING = ("described", "messages", "views", "about", "due", "taken_for", "origin")
"""Such members of a finding."""
TIMES = ("began", "seconds", "python", "requests", "command")
"""Members of `timing` that are about the whole run."""


def render(report: Report) -> str:
    """Return the brief report as JSON, with one clause, result or message a line.

    Verdicts, findings and reasons are those of the report. It has no causes, which the reader of
    reports computes again. Messages are kept only if the HTML page shows them, of one failure a
    clause, with the shown part of each body. Credentials that the suite planted are redacted.
    """
    results, messages = _results(report)
    brief = msgspec.structs.replace(
        report,
        results=results,
        messages=messages,
        stages=[],
        timing={name: report.timing[name] for name in TIMES if name in report.timing},
    )
    document = plain(brief)
    del document["causes"]
    for result in document["results"]:
        result["findings"] = [_without(OF_FINDING, finding) for finding in result["findings"]]
    for name in ("clauses", "results"):
        document[name] = [_without(OPTIONAL, row) for row in document[name]]
    return PLANTED.sub(REDACTED, "".join(_lines(document)))


def _without(names: tuple[str, ...], row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value or name not in names}


def _results(report: Report) -> tuple[list[Result], dict[str, ReportedMessage]]:
    """Return (brief results, messages that they keep, by place).

    Only the first failed or waived result of each first clause keeps messages.
    """
    number: Counter[str] = Counter()
    kept: dict[str, ReportedMessage] = {}
    results = []
    for result in report.results:
        own: dict[str, ReportedMessage] = {}
        if result.verdict in ("fail", "waived"):
            first = next(iter(result.clauses), "")
            number[first] += 1
            if number[first] <= WHOLE:
                own = dict(_shown(result, report.messages))
        kept |= own
        results.append(_brief(result, tuple(own)))
    return results, kept


def _brief(result: Result, messages: tuple[str, ...]) -> Result:
    """Return the result with these messages only, and without what the report repeats elsewhere.

    All lose times, command and pinned texts, and those with findings their evidence. A result that
    passed or does not apply loses all evidence, `unseen` and `cut`.
    """
    told = result.verdict in TOLD
    findings = tuple(
        msgspec.structs.replace(
            finding, messages=tuple(each for each in finding.messages if each in messages)
        )
        for finding in result.findings
    )
    return msgspec.structs.replace(
        result,
        messages=messages,
        findings=findings,
        evidence=result.evidence if told and not result.findings else (),
        reproduce="",
        unseen=result.unseen if told else (),
        cut=result.cut if told else (),
        pinned=(),
        observed=tuple(clause for clause in result.observed if clause not in result.clauses),
        timing={},
    )


def _shown(
    result: Result, messages: Mapping[str, ReportedMessage]
) -> Iterator[tuple[str, ReportedMessage]]:
    """Yield (place, message) of the messages that a page shows of a result, in order, each cut."""
    for row in exchange(result, messages).rows:
        place = result.messages[row.number - 1]
        yield place, _cut(messages[place], row)


def _cut(message: ReportedMessage, row: ShownMessage) -> ReportedMessage:
    """Return the message with the part of its body in `row`, and headers that change an answer.

    Its `cut` also counts the bytes of the body left out here.
    """
    body = row.before.removeprefix("… ") + row.marked + row.after
    left_out = len(message.body.encode(errors="replace")) - len(body.encode(errors="replace"))
    return msgspec.structs.replace(
        message,
        body=body,
        cut=message.cut + max(0, left_out),
        headers={name: text for name, text in message.headers.items() if name.lower() in SENT},
    )


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    before = "{\n"
    for name, value in document.items():
        yield f"{before}{_json(name)}: {_items(value)}"
        before = ",\n"
    yield "\n}\n"


def _items(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(_json, value)) + "\n]"
    if isinstance(value, dict) and value:
        rows = (f"{_json(name)}: {_json(inner)}" for name, inner in value.items())
        return "{\n" + ",\n".join(rows) + "\n}"
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")).replace("\x7f", "\\u007f")
