"""Linter of the data files that authors write: each fault with its place and its repair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_proxy_conformance.authoring.catalogue_rules import (
    doubled,
)
from mcp_proxy_conformance.authoring.corpus import Corpus, corpus, installed
from mcp_proxy_conformance.authoring.documents import Document, read
from mcp_proxy_conformance.authoring.finding import LintFinding, Unreadable, finding
from mcp_proxy_conformance.authoring.gaps import gap_findings, where
from mcp_proxy_conformance.catalogue.requirement import unknown

SUFFIXES = frozenset({".json", ".toml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """Result of linting: number of files, findings, and files skipped as of no known kind."""

    files: int
    findings: tuple[LintFinding, ...]
    passed_over: tuple[Path, ...] = ()


def lint(paths: Sequence[Path]) -> Linted:
    """Lint files and folders or, if `paths` is empty, the shipped files; return sorted findings.

    Each file is judged together with the shipped ones, in place of the one of its kind and name.
    In a folder, files of no known kind are passed over. Raises Unreadable if a path does not exist,
    may not be read, or is a folder without any .json or .toml file.
    """
    chosen = list(_chosen(paths)) if paths else [(path, False) for path in installed()]
    documents: list[Document] = []
    findings: list[LintFinding] = []
    over: list[Path] = []
    for path, walked in chosen:
        for part in read(path):
            if isinstance(part, Document):
                documents.append(part)
                findings += part.faults
            elif walked and part.pointer == "" and part.fault.startswith("this is none"):
                over.append(path)
            else:
                findings.append(part)
    known = corpus(documents)
    for document in documents:
        if document.is_sound:
            findings += _own(document, known)
    findings += _shared(documents, known)
    return Linted(
        files=len(chosen) - len(over),
        findings=tuple(sorted(set(findings))),
        passed_over=tuple(over),
    )


def _chosen(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """Yield (file, whether it was found in a folder), each file once.

    Raises Unreadable for a folder without any .json or .toml file.
    """
    yielded: set[Path] = set()
    for path in paths:
        files = _walked(path) if path.is_dir() else [path]
        if not files:
            raise Unreadable(f"{path} has no .json or .toml file; name files or another folder")
        for file in files:
            if (whole := file.absolute()) not in yielded:
                yielded.add(whole)
                yield file, path.is_dir()


def _walked(folder: Path) -> list[Path]:
    """Return the .json and .toml files below a folder, sorted, without hidden ones."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def _own(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on one document by the rules of its kind.

    Of a kind that is `named`, the id must also be the file's name, if it is alone in it.
    """
    value, kind = document.value, document.kind
    if kind.named and not document.case and value.id != document.path.stem:
        fault = f"the id is {value.id!r}, but the file is {document.path.name}"
        yield document.finding_at(("id",), fault, "give both the same name")
    if kind.giving:
        yield from _cited(document, known)
    if kind.rules is not None:
        yield from kind.rules(document, known)


def _cited(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield findings on a case: unknown clauses, clauses of two levels, an area no check runs."""
    value, clauses = document.value, known.catalogue.clauses
    for number, name in enumerate(value.clauses):
        if name not in clauses:
            fault = unknown("clause", name, clauses)
            yield document.finding_at(("clauses", number), fault, "name a clause of `list clauses`")
    levels = {clauses[name].level for name in value.clauses if name in clauses}
    if len(levels) > 1:
        fault = "some of its clauses are required and some advisory"
        yield document.finding_at(("clauses",), fault, "split the case")
    of_kind = document.kind.giving
    areas = {word for check in known.shipped.checks for by, word in check.areas if by == of_kind}
    if value.area not in areas:
        fault = unknown("check of the area", value.area, areas)
        yield document.finding_at(("area",), fault, f"name one of {', '.join(sorted(areas))}")


def _shared(documents: Sequence[Document], known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on these documents that need all data: doubled ids, gaps.

    Gaps are searched for only if every one of these documents is sound.
    """
    for noun, name in doubled(known):
        for document, line in where(known, noun, name):
            if document.key in known.own:
                fault = f"the {noun} {name} is defined twice"
                yield finding(document.path, line, fault, "rename one of the two")
    if all(document.is_sound for document in documents):
        yield from gap_findings(known)
