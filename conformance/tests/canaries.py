"""Secrets that are put somewhere, and every trace of them in what is printed or written."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, quote_plus

from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.cli.report import FORMATS

PIECE = 12
"""Characters of a secret, or of its encoding, that are as secret as the whole."""


def forms(secret: str) -> list[str]:
    """How a secret may look in somebody's answer."""
    return [*_alone(secret), *(base64.b64encode(b"u:"[:n] + secret.encode()).decode()
                               for n in range(3))]  # fmt: skip


def _alone(secret: str) -> list[str]:
    whole = "".join(f"%{byte:02x}" for byte in secret.encode())
    quoted = [quote(secret), quote(secret, safe=""), quote_plus(secret)]
    return [secret, *quoted, *map(str.lower, quoted[1:2] if secret.islower() else []), whole]


def pieces(secret: str) -> set[str]:
    """What must stand in no text: of base64, what does not depend on what is beside it."""
    shifted = [base64.b64encode(b"u:"[:n] + secret.encode()).decode()[4:-4] for n in range(3)]
    every = [*_alone(secret), *shifted]
    windows = {one[at : at + PIECE] for one in every for at in range(len(one) - PIECE + 1)}
    return windows | {one for one in every if len(one) < PIECE}


def cut(secret: str) -> list[str]:
    """Every form as an excerpt would hold it: its beginning, its middle, its end."""
    return [
        piece
        for one in forms(secret)
        for piece in (one[: PIECE + 3], one[len(one) // 3 :][:PIECE], one[-PIECE - 1 :])
    ]


def told_in(folder: Path, canaries: Sequence[str], *printed: str) -> dict[str, list[str]]:
    """The pieces of canaries that stand in what was printed, written, or rendered of a report."""
    texts = {f"printed {number}": text for number, text in enumerate(printed)}
    for path in folder.rglob("*"):
        if path.is_file():
            texts[path.name] = path.read_text(encoding="utf-8", errors="replace")
    report = folder / "report.json"
    for form in FORMATS if report.exists() else ():
        told = CliRunner().invoke(main, ["report", str(report), "--format", form])
        assert told.exit_code == 0
        texts[f"report as {form}"] = told.output
    every = {one for secret in canaries for one in pieces(secret)}
    found = {name: [one for one in every if one in text] for name, text in texts.items()}
    return {name: told for name, told in found.items() if told}
