"""Pins of a target file (remediation texts by the status they mean): proposals, and those used."""

from __future__ import annotations

import json

from mcp_proxy_conformance.report.document import Report


def pins(report: Report) -> list[str]:
    """Return lines of TOML, a table `pins` with each unread text of required results once.

    Each is under the status that it was first given for, with a remark on others. [] if there is
    none.
    """
    statuses: dict[str, list[str]] = {}
    for result in report.results:
        for lock_text in result.unread if result.level == "required" else ():
            statuses.setdefault(lock_text.text, []).append(lock_text.status)
    lines = ["[pins]"] if statuses else []
    for status in sorted({first for first, *_ in statuses.values()}):
        lines.append(f"{status} = [")
        for text, (first, *others) in statuses.items():
            if first == status:
                more = sorted({*others} - {first})
                note = f"  # also given for {' and '.join(more)}" if more else ""
                lines.append(f"  {quoted(text)},{note}")
        lines.append("]")
    return lines


def accepted_texts(report: Report) -> list[str]:
    """Return "TEXT for STATUS and STATUS" for each text accepted as the target file pins it."""
    statuses: dict[str, set[str]] = {}
    for result in report.results:
        for lock_text in result.pinned:
            statuses.setdefault(lock_text.text, set()).add(lock_text.status)
    return [f"{quoted(text)} for {' and '.join(sorted(of))}" for text, of in statuses.items()]


def quoted(text: str) -> str:
    """Return the text as a TOML string on one line, unprintable characters escaped."""
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(
        character if character.isprintable() else _escaped(character) for character in plain
    )


def _escaped(character: str) -> str:
    """Return the character's escape in TOML: of four hex digits, or eight beyond U+FFFF."""
    number = ord(character)
    return f"\\U{number:08x}" if number > 0xFFFF else f"\\u{number:04x}"  # noqa: PLR2004
