"""Canaries, made-up secrets: their encoded forms and pieces, and where output leaks them."""

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
    """Return the forms of a secret in an answer: plain, percent-encoded, and in base64.

    Base64 is at three offsets.
    """
    return [*_alone(secret), *(base64.b64encode(b"u:"[:n] + secret.encode()).decode()
                               for n in range(3))]  # fmt: skip


def _alone(secret: str) -> list[str]:
    """Return the secret as it is and percent-encoded: as in URLs, in forms, and each byte.

    One of these is in small letters too if the secret is.
    """
    whole = "".join(f"%{byte:02x}" for byte in secret.encode())
    quoted = [quote(secret), quote(secret, safe=""), quote_plus(secret)]
    return [secret, *quoted, *map(str.lower, quoted[1:2] if secret.islower() else []), whole]


def pieces(secret: str) -> set[str]:
    """Return the pieces of a secret that no text may hold: every 12 characters of each form.

    Of base64, only those that do not depend on neighbouring bytes; a shorter form is a piece whole.
    """
    shifted = [base64.b64encode(b"u:"[:n] + secret.encode()).decode()[4:-4] for n in range(3)]
    alternatives = [*_alone(secret), *shifted]
    windows = {
        form[at : at + PIECE] for form in alternatives for at in range(len(form) - PIECE + 1)
    }
    return windows | {form for form in alternatives if len(form) < PIECE}


def cut(secret: str) -> list[str]:
    """Return three excerpts of each form of a secret: its beginning, middle and end.

    Each has at most 15 characters.
    """
    return [
        piece
        for form in forms(secret)
        for piece in (form[: PIECE + 3], form[len(form) // 3 :][:PIECE], form[-PIECE - 1 :])
    ]


def leaked_in(folder: Path, canaries: Sequence[str], *printed: str) -> dict[str, list[str]]:
    """Return {place: pieces of canaries that occur in it}, without places that have none.

    Places are the printed texts, each file of the folder, and each rendering of its report.json.
    """
    texts = {f"printed {number}": text for number, text in enumerate(printed)}
    for path in folder.rglob("*"):
        if path.is_file():
            texts[path.name] = path.read_text(encoding="utf-8", errors="replace")
    report = folder / "report.json"
    for form in FORMATS if report.exists() else ():
        result = CliRunner().invoke(main, ["report", str(report), "--format", form])
        assert result.exit_code == 0
        texts[f"report as {form}"] = result.output
    fragments = {fragment for secret in canaries for fragment in pieces(secret)}
    leaks = {
        name: [fragment for fragment in fragments if fragment in text]
        for name, text in texts.items()
    }
    return {name: fragments for name, fragments in leaks.items() if fragments}
