"""Markdown page of every sentence of the specifications: its clauses, or why it has none."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_proxy_conformance.catalogue.requirement import Catalogue, catalogue
from mcp_proxy_conformance.catalogue.sentence import Sentence, sentences
from mcp_proxy_conformance.report.markdown import code
from mcp_proxy_conformance.report.markup import prose

HEAD = """# Every sentence of the source texts

Made by `mcp-proxy-conformance explain sentences` from the files `sentences.toml` and the catalogue.

- **required**: a breach of one of its required clauses fails the target.
- **partly**: required, but a part of the sentence is not judged; the last column says which.
- **advisory**: a breach is reported and never counts.
- **not judged**: the last column says why.

Clauses in italics are advisory.
"""


def sentence_page() -> str:
    """Return the Markdown page: a head, and for each source text a table of its sentences."""
    lines = [HEAD]
    by_text: dict[str, list[Sentence]] = {}
    for row in sentences():
        by_text.setdefault(row.text, []).append(row)
    for text, rows in by_text.items():
        lines += [f"## {text}", "", "| place | sentence | judged | clauses | not judged |"]
        lines += ["|---|---|---|---|---|", *map(_row, rows), ""]
    return "\n".join(lines)


def strength(row: Sentence, known: Catalogue) -> str:
    """Return how a sentence is judged: `required`, `partly`, `advisory` or `not judged`.

    It is not judged without clauses, advisory without a required one, and partly judged if
    `partial` is set.
    """
    levels = {known.clause(name).level for name in row.clauses}
    if not levels:
        return "not judged"
    if "required" not in levels:
        return "advisory"
    return "partly" if row.partial else "required"


def _row(row: Sentence) -> str:
    """Return the table row of a sentence: place, text, strength, clauses, what is not judged."""
    cells = (
        prose(row.at),
        prose(row.says),
        strength(row, catalogue()),
        ", ".join(_names(row)),
        prose(row.partial or row.unjudged or ""),
    )
    return f"| {' | '.join(cells)} |"


def _names(row: Sentence) -> Iterator[str]:
    """Yield the ids of a sentence's clauses in Markdown, the advisory ones in italics."""
    for name in row.clauses:
        required = catalogue().clause(name).level == "required"
        yield code(name) if required else f"*{code(name)}*"
