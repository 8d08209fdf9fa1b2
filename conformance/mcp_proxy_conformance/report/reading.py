"""A report read back from its file, and refused in one sentence when it is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import msgspec

from mcp_proxy_conformance.catalogue.bounded import MOST_OF_REPORT, read_bytes
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.report.document import FORMAT, Report
from mcp_proxy_conformance.verdict.redaction import inert

SHOWN = 120


class BadReport(Exception):
    """The file holds no report that can be rendered; the message says why and what to give."""


def read_report(path: Path) -> Report:
    """The report of `report.json`, valid under schemas/report.schema.json.

    Raises:
        BadReport: There is no such file, or it is no report of this format.
    """
    try:
        told = msgspec.json.decode(read_bytes(path, MOST_OF_REPORT))
    except OSError as error:
        raise BadReport(
            f"{path} cannot be read: {error.strerror}; name the report.json of a run"
        ) from error
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise BadReport(f"{path} is no JSON: {error}; name the report.json of a run") from error
    found = told.get("format") if isinstance(told, dict) else None
    if found != FORMAT:
        raise BadReport(f"{path} is not of the format {FORMAT}; name the report.json of a run")
    fault = _fault(told)
    if not fault:
        try:
            return msgspec.convert(told, Report)
        except msgspec.ValidationError as error:  # e.g. 1.0 where the schema has an integer
            fault = str(error)
    told_of = " ".join(inert(fault).split())
    raise BadReport(f"{path} is no whole report: {told_of}; let `run` write it again")


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
