"""Log of pytest's own output during a run: redacted, in a file, its end in memory too."""

from __future__ import annotations

import contextlib
import io
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_proxy_conformance.verdict.redaction import Redactor

REMEMBERED = 400
"""Pieces of the output that are kept in memory."""


class PytestLog(io.TextIOWrapper):
    """Stream for pytest's output: redacted, in a file, its last lines in memory too.

    A full disk is ignored.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        """Open the file, emptied, as UTF-8; characters that cannot be encoded are escaped."""
        super().__init__(path.open("wb"), encoding="utf-8", errors="backslashreplace")
        self.recent = deque[str](maxlen=REMEMBERED)
        self._redactor, self._begun = redactor, ""

    def write(self, text: str) -> int:
        """Write the complete lines, redacted, hold back an incomplete one; return len(text)."""
        lines, line_end, self._begun = (self._begun + text).rpartition("\n")
        self._say(lines + line_end)
        return len(text)

    def _say(self, text: str) -> None:
        """Write a text, redacted, and keep it among the last 400 pieces; ignore disk errors."""
        redacted = self._redactor.text(text)
        self.recent.append(redacted)
        with contextlib.suppress(OSError):
            super().write(redacted)

    def flush(self) -> None:
        """Flush the file; disk errors are ignored."""
        with contextlib.suppress(OSError):
            super().flush()

    def close(self) -> None:
        """Write the incomplete last line and close the file; disk errors are ignored."""
        begun, self._begun = self._begun, ""
        with contextlib.suppress(OSError, ValueError):
            self._say(begun)
            super().close()

    def complaint(self) -> str:
        """Return the line after the last "ERROR: "; without one, the last five lines."""
        recent = "".join(self.recent)
        _, error, message = recent.rpartition("ERROR: ")
        return message.split("\n")[0] if error else "\n".join(recent.splitlines()[-5:])
