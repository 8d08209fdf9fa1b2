"""Lint findings on gaps in the selftest, such as a clause that too few mutants are for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mcp_proxy_conformance.authoring.corpus import Corpus
from mcp_proxy_conformance.authoring.documents import Document
from mcp_proxy_conformance.authoring.finding import LintFinding, finding
from mcp_proxy_conformance.authoring.json_lines import JsonLines
from mcp_proxy_conformance.authoring.kinds import (
    INTERPRETATIONS,
    PROFILE,
    REQUIREMENTS,
    kinds,
)
from mcp_proxy_conformance.selftest import shipped

OF = {
    "clause": (REQUIREMENTS,),
    "interpretation": (INTERPRETATIONS,),
    "profile": (PROFILE,),
}
"""The kinds of files in which a subject is named, or would be; a case in those of cases."""


def gap_findings(known: Corpus) -> Iterator[LintFinding]:
    """Yield a finding for each gap that concerns one of the files to lint.

    A gap whose subject, such as a mutant, is defined in no data file is yielded at a line of Python
    code, if requirements or interpretations are linted.
    """
    of_code = bool(known.of(REQUIREMENTS, own=True) or known.of(INTERPRETATIONS, own=True))
    for gap in shipped.gaps(known.shipped):
        places = list(where(known, gap.subject, gap.id))
        for document, line in places:
            if document.key in known.own:
                yield finding(document.path, line, gap.fault, gap.repair)
        if not places and of_code:
            yield finding(*_code(gap.id), gap.fault, gap.repair)


def where(known: Corpus, noun: str, name: str) -> Iterator[tuple[Document, int]]:
    """Yield (document, line) for each place in data files that defines the id `name`.

    `noun` says what has that id, a key of OF; for any other noun nothing is yielded. A profile is
    located at its `interpretations`.
    """
    of_cases = [kind for kind in kinds() if kind.giving] if noun == "case" else ()
    for kind in (*OF.get(noun, ()), *of_cases):
        for document in known.of(kind):
            if isinstance(document.lines, JsonLines):
                if document.value.id == name:
                    yield document, document.lines.line(("id",))
            elif noun == "profile":
                if document.value.name == name:
                    yield document, document.lines.line(("interpretations",))
            else:
                yield from _named(document, name)


def _named(document: Document, name: str) -> Iterator[tuple[Document, int]]:
    """Yield (document, line) for each line of a TOML file with `id = "NAME"`."""
    text = document.path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf'\s*id\s*=\s*"{re.escape(name)}"', line):
            yield document, number


def _code(name: str) -> tuple[Path, int]:
    """Return (file, line) of the first Python line that quotes the id, the reference's first.

    Without any, line 1 of the module of rules.
    """
    import mcp_proxy_reference  # noqa: PLC0415

    for package in (mcp_proxy_reference.__file__, shipped.__file__):
        for path in sorted(Path(str(package)).parent.rglob("*.py")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if f'"{name}"' in line:
                    return path, number
    return Path(shipped.__file__), 1
