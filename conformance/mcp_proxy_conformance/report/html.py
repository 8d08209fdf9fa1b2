"""The report as one HTML page that needs no network and no script."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from mcp_proxy_conformance.report.inert import inert
from mcp_proxy_conformance.report.retelling import (
    OPEN,
    Sentence,
    again,
    name,
    profile_of,
    request,
    sentence,
    target_of,
)
from mcp_proxy_conformance.report.terminal import VERDICTS

LEFT_OUT = "left out"
BODY_MOST = 4000


@dataclass(frozen=True, slots=True)
class Told:
    """A result that is not settled: its place on the page, and what it rests on."""

    anchor: str
    result: dict[str, Any]
    name: str
    again: str
    request: str
    messages: tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A clause, the results told beneath it, and those told beneath another that it shares."""

    clause: dict[str, Any]
    sentence: Sentence
    own: tuple[Told, ...]
    elsewhere: tuple[Told, ...]


def render(report: dict[str, Any]) -> str:
    """The page: headline, then each clause with its sentence, its verdict and its evidence."""
    open_ = [
        _told(f"result-{number}", result, report)
        for number, result in enumerate(report["results"], 1)
        if result["verdict"] in OPEN
    ]
    shown = [one for one in report["clauses"] if one["reason"] != LEFT_OUT]
    homes = _homes(open_, {one["id"] for one in shown})
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            report=report,
            profile=profile_of(report),
            target=target_of(report),
            counts=_counts(report["clauses"]),
            left_out=len(report["clauses"]) - len(shown),
            sections=[_section(one, open_, homes) for one in shown],
            homeless=[one for one in open_ if homes[one.anchor] is None],
            sentence=sentence,
            body_most=BODY_MOST,
        )
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("mcp_proxy_conformance", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shown(value: Any) -> Any:
    """Every text that reaches the page, escaped after this; markup is what a macro made of them."""
    return inert(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _told(anchor: str, result: dict[str, Any], report: dict[str, Any]) -> Told:
    return Told(
        anchor=anchor,
        result=result,
        name=name(result),
        again=again(result),
        request=request(result, report),
        messages=tuple((place, report["messages"][place]) for place in result["messages"]),
    )


def _homes(open_: list[Told], shown: set[str]) -> dict[str, str | None]:
    """By result, the first clause of its own that is on the page."""
    return {
        one.anchor: next((each for each in one.result["clauses"] if each in shown), None)
        for one in open_
    }


def _section(clause: dict[str, Any], open_: list[Told], homes: dict[str, str | None]) -> Section:
    cited = [one for one in open_ if clause["id"] in one.result["clauses"]]
    own = tuple(one for one in cited if homes[one.anchor] == clause["id"])
    elsewhere = tuple(one for one in cited if homes[one.anchor] != clause["id"])
    return Section(clause, sentence(clause["id"]), own, elsewhere)


def _counts(clauses: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Each verdict with the number of clauses that convict, and of advisory ones."""
    firm = Counter(one["verdict"] for one in clauses if one["judgement"] == "F")
    advisory = Counter(one["verdict"] for one in clauses if one["judgement"] == "A")
    return [(word, firm[word], advisory[word]) for word in VERDICTS if firm[word] or advisory[word]]
