"""A report read back from its file, and refused in one sentence when it is none."""

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
EDITED, AGAIN = "was edited since it was written", "let `run` write it again"


class BadReport(Exception):
    """The file holds no report that can be rendered; the message says why and what to give."""


def read_report(path: Path) -> Report:
    """The report of `report.json`, valid under schemas/report.schema.json.

    Raises:
        BadReport: There is no such file, or it is no report of this format.
    """
    try:
        raw = read_bytes(path, MOST_OF_REPORT)
        told = msgspec.json.decode(raw)
        json.loads(raw, object_pairs_hook=_once)
    except OSError as error:
        raise BadReport(
            f"{path} cannot be read: {error.strerror}; name the report.json of a run"
        ) from error
    except _Twice as error:
        raise BadReport(f"{path} {EDITED}: {error}; {AGAIN}") from None
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise BadReport(f"{path} is no JSON: {error}; name the report.json of a run") from error
    found = told.get("format") if isinstance(told, dict) else None
    if found != FORMAT:
        raise BadReport(f"{path} is not of the format {FORMAT}; name the report.json of a run")
    fault = _fault(told)
    if not fault:
        try:
            report = msgspec.convert(told, Report)
        except msgspec.ValidationError as error:  # e.g. 1.0 where the schema has an integer
            fault = str(error)
        else:
            if unlike := _contradiction(report):
                raise BadReport(f"{path} {EDITED}: {unlike}; {AGAIN}")
            return report
    told_of = " ".join(inert(fault).split())
    raise BadReport(f"{path} is no whole report: {told_of}; {AGAIN}")


class _Twice(ValueError):
    """An object has a member twice; which of them counts depends on the reader."""


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        name = next(one for one in names if names.count(one) > 1)
        raise _Twice(f"it has the member {inert(name)[:SHOWN]!r} twice in one object")
    return found


def _contradiction(report: Report) -> str:
    """Where its exit code cannot come of its clauses; empty when it can."""
    firm = [one for one in report.clauses if one.judgement == "F"]
    failed = [one.id for one in firm if one.verdict == "fail"]
    unsettled = [one.id for one in firm if one.verdict in ("inconclusive", "error")]
    told = f"exit is {report.exit}"
    if failed and report.exit in (CONFORMANT, BROKEN, INCOMPLETE, STALE):
        return f"{told}, but {failed[0]} failed"
    if not failed and report.exit == VIOLATED:
        return f"{told}, but no clause failed"
    if unsettled and report.exit == CONFORMANT:
        return f"{told}, but {unsettled[0]} is not settled"
    if not report.complete and report.exit == CONFORMANT:
        return f"{told}, but the run is not complete"
    return ""


def _fault(document: Any) -> str:
    """Where the document breaks its schema or cites what it does not have; empty when nowhere."""
    schema = msgspec.json.decode((schemas_dir() / "report.schema.json").read_bytes())
    error = next(jsonschema.Draft202012Validator(schema).iter_errors(document), None)
    if error is not None:
        return f"at {error.json_path[:SHOWN]} {error.validator} does not hold"
    for result in document["results"]:
        for place in result["messages"]:
            if place not in document["messages"]:
                return f"it cites a message {place[:SHOWN]!r} that it does not hold"
    return ""
