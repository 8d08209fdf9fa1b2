"""The kinds of files that authors of discovery write: cases, stages, words of remediation texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_proxy_conformance.authoring.corpus import Corpus
from mcp_proxy_conformance.authoring.documents import Document
from mcp_proxy_conformance.authoring.finding import LintFinding
from mcp_proxy_conformance.authoring.kinds import Kind
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.discovery.authoring.case_rules import case_findings
from mcp_proxy_conformance.discovery.authoring.stage_rules import stage_findings
from mcp_proxy_conformance.discovery.case import Case


def _stage(document: Document, known: Corpus) -> Iterator[LintFinding]:
    del known
    yield from stage_findings(document)


def kinds() -> Sequence[Kind]:
    """Return the kinds."""
    return (
        Kind("case", "case", "*.json", frozenset({"when"}), Case,
             giving="each_case", named=True, rules=case_findings),
        Kind("stage", "stage", "stages/*.json", frozenset({"servers", "steps"}), World,
             named=True, rules=_stage),
        Kind("table of words", "remediation-words", "remediation/words.json",
             frozenset({"harmless"})),
        Kind("list of convicting texts", "remediation-convicting", "remediation/convicting.json",
             frozenset({"told"})),
    )  # fmt: skip
