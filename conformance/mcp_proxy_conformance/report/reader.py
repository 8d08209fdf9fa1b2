"""Reader of a report's file, which refuses an unusable one in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec

from mcp_proxy_conformance.catalogue.bounded import MOST_OF_REPORT, read_bytes
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.report.document import FORMAT, Report
from mcp_proxy_conformance.verdict.outcome import (
    BROKEN,
    CONFORMANT,
    INCOMPLETE,
    STALE,
    VIOLATED,
)
from mcp_proxy_conformance.verdict.redaction import inert

SHOWN = 120
EDITED, AGAIN = "was edited since it was written", "create it again with `run`"


class BadReport(Exception):
    """The file does not hold a report that can be rendered; the message names the repair."""


def read_report(path: Path) -> Report:
    """Read a `report.json`.

    Raises BadReport if the file does not exist, is not such a report, or contradicts itself.
    """
    try:
        raw = read_bytes(path, MOST_OF_REPORT)
    except OSError as error:
        raise BadReport(
            f"{path} cannot be read: {error.strerror}; name the report.json of a run"
        ) from error
    return report_of(raw, path)


def report_of(raw: bytes, path: Path) -> Report:
    """Return the report in the content of a file, whose name is `path`.

    Raises BadReport, with the file's name and the repair, if it is not one.
    """
    try:
        document = msgspec.json.decode(raw)
        json.loads(raw, object_pairs_hook=_without_duplicates)
    except _Twice as error:
        raise BadReport(f"{path} {EDITED}: {error}; {AGAIN}") from None
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise BadReport(f"{path} is not JSON: {error}; name the report.json of a run") from error
    form = document.get("format") if isinstance(document, dict) else None
    if form != FORMAT:
        is_older = isinstance(form, str) and form.startswith(FORMAT[: FORMAT.index("/") + 1])
        repair = AGAIN if is_older else "name the report.json of a run"
        raise BadReport(f"{path} does not have the format {FORMAT}; {repair}")
    fault = _fault(document)
    if not fault:
        try:
            report = msgspec.convert(document, Report)
        except msgspec.ValidationError as error:  # e.g. 1.0 where the schema has an integer
            fault = str(error)
        else:
            if unlike := _contradiction(report):
                raise BadReport(f"{path} {EDITED}: {unlike}; {AGAIN}")
            return report
    problem = " ".join(inert(fault).split())
    raise BadReport(f"{path} is not a valid report: {problem}; {AGAIN}")


class _Twice(ValueError):
    """A JSON object has a member twice; which one counts would depend on the reader."""


def _without_duplicates(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) < len(members):
        names = [name for name, _ in members]
        name = next(candidate for candidate in names if names.count(candidate) > 1)
        raise _Twice(f"it has the member {inert(name)[:SHOWN]!r} twice in one object")
    return unique


def _contradiction(report: Report) -> str:
    firm = [clause for clause in report.clauses if clause.level == "required"]
    failed = [clause.id for clause in firm if clause.verdict == "fail"]
    unsettled = [clause.id for clause in firm if clause.verdict in ("inconclusive", "error")]
    claim = f"exit is {report.exit}"
    if failed and report.exit in (CONFORMANT, BROKEN, INCOMPLETE, STALE):
        return f"{claim}, but {failed[0]} failed"
    if not failed and report.exit == VIOLATED:
        return f"{claim}, but no clause failed"
    if unsettled and report.exit == CONFORMANT:
        return f"{claim}, but {unsettled[0]} is not settled"
    if not report.complete and report.exit == CONFORMANT and report.headline != "partial":
        return f"{claim}, but the run is not complete"
    return ""


def _fault(document: Any) -> str:
    """Return the first breach of the schema, else a cited message that is missing; else ""."""
    schema = msgspec.json.decode((schemas_dir() / "report.schema.json").read_bytes())
    error = next(jsonschema.Draft202012Validator(schema).iter_errors(document), None)
    if error is not None:
        return f"{error.json_path[:SHOWN]} breaks the rule {error.validator} of the schema"
    for result in document["results"]:
        for place in result.get("messages", ()):
            if place not in document["messages"]:
                return f"it cites the message {place[:SHOWN]!r}, which it does not contain"
    return ""
