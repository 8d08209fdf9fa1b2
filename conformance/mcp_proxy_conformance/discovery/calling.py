"""One call's arguments and outcome, as checks see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.wire.reply import ToolReply


class _Absent:
    """The third form of an argument: not sent at all."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What one call through the proxy did: the text told, and whether the upstream saw it."""

    key: ToolKey
    reply: ToolReply
    reached: bool

    @property
    def served(self) -> bool:
        """Whether the upstream saw it and the answer is no error: the tool is not locked."""
        return self.reached and self.reply.error is None and not self.reply.is_error

    @property
    def text(self) -> str:
        """All the words of the answer, an error's message included."""
        if self.reply.error is not None:
            return str(self.reply.error.get("message", self.reply.error))
        return "\n".join(self.reply.texts)
