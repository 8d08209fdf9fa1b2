"""The tools of a scripted server, and their listing as bytes rendered once a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.wire.jsonrpc import dumps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _no_arguments() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTool:
    """One tool as its server lists it."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=_no_arguments)
    annotations: Mapping[str, Any] | None = None

    def render(self) -> bytes:
        """The tool's entry in `tools/list`."""
        entry: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        if self.annotations is not None:
            entry["annotations"] = self.annotations
        return dumps(entry)


def render_pages(tools: Sequence[UpstreamTool], page_size: int | None) -> dict[str | None, bytes]:
    """The members of each page's result, by the cursor that asks for it."""
    size = page_size or max(1, len(tools))
    pages: dict[str | None, bytes] = {}
    for start in range(0, max(1, len(tools)), size):
        entries = b",".join(tool.render() for tool in tools[start : start + size])
        body = b'"tools":[' + entries + b"]"
        if start + size < len(tools):
            body += b',"nextCursor":"from-%d"' % (start + size)
        pages[f"from-{start}" if start else None] = body
    return pages
