"""Texts that could not be read, as lines of a target file that say what each conveys."""

from __future__ import annotations

import json

from mcp_proxy_conformance.report.document import Report


def pins(report: Report) -> list[str]:
    """The table `pins` of a target file: each text once, under the first status it was told for.

    Nothing where every text that counts was read.
    """
    statuses: dict[str, list[str]] = {}
    for result in report.results:
        for one in result.unread if result.judgement == "F" else ():
            statuses.setdefault(one.text, []).append(one.status)
    lines = ["[pins]"] if statuses else []
    for status in sorted({first for first, *_ in statuses.values()}):
        lines.append(f"{status} = [")
        for text, (first, *others) in statuses.items():
            if first == status:
                more = sorted({*others} - {first})
                note = f"  # told for {' and '.join(more)}, too" if more else ""
                lines.append(f"  {quoted(text)},{note}")
        lines.append("]")
    return lines


def pinned(report: Report) -> list[str]:
    """What was taken for the remedy that the target file says: each text with its statuses."""
    statuses: dict[str, set[str]] = {}
    for result in report.results:
        for one in result.pinned:
            statuses.setdefault(one.text, set()).add(one.status)
    return [f"{quoted(text)} for {' and '.join(sorted(of))}" for text, of in statuses.items()]


def quoted(text: str) -> str:
    """The text as TOML writes it on one line, whatever does not print escaped."""
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else _escaped(one) for one in plain)


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\U{number:08x}" if number > 0xFFFF else f"\\u{number:04x}"  # noqa: PLR2004
