"""Syrupy extension that stores each answer in a file, in the form in which baselines store them."""

from __future__ import annotations

from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension

from mcp_proxy_conformance.discovery.baseline.body import (
    ENDING,
    BadBody,
    Body,
    changed,
    parsed,
    written,
)


class AnswerFile(SingleFileSnapshotExtension):
    """The syrupy extension behind the fixture `golden`: each answer in a file of its own."""

    file_extension = ENDING

    def serialize(self, data: Body | bytes, **_: Any) -> bytes:
        """Return the content of an answer's file; bytes are returned as they are."""
        return data if isinstance(data, bytes) else written(data)

    def matches(self, *, serialized_data: bytes, snapshot_data: bytes) -> bool:
        """Whether the contents of two files hold equal answers to the same request.

        Members that vary from one answer to the next are not compared. A stored file that cannot be
        parsed is not equal.
        """
        if serialized_data == snapshot_data:
            return True
        try:
            stored = parsed(snapshot_data)
        except BadBody:
            return False
        answer = parsed(serialized_data)
        return stored.request == answer.request and changed(stored, answer) is None
